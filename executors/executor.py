"""What an engine owes to the coordinator: it computes one subplan at a time over ranges of its buffers.

An engine is one folder beside this file and one line in `engines.py`;
`tests/executors/test_executor_contract.py` runs the same firings on each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias, assert_never

import pyarrow as pa

from catalog.postgres.storage import Storage
from catalog.postgres.types import SqlType
from catalog.queries.arrangements import ArrangementRow
from dialect.expressions.environment import DEFAULT, Environment
from executors.rows import Schema
from planner.cost.engines import EngineLimits
from planner.delta.weighted import DeltaPlan, Moment, Subplan

Range: TypeAlias = tuple[int, int]
"""Offsets (from, to] of a buffer."""


@dataclass(frozen=True, slots=True)
class AddedColumn:
    """A column that is newer than a file, and the text of its value in all rows of the file."""

    name: str
    text: str
    type: SqlType
    storage: Storage


@dataclass(frozen=True, slots=True)
class InFile:
    """The rows of a Parquet file after one offset and up to another; None where the file begins or ends."""

    uri: str
    rows: int
    after: int | None = None
    upto: int | None = None
    added: tuple[AddedColumn, ...] = ()


@dataclass(frozen=True, slots=True)
class InMemory:
    """Rows that need not be read: the buffer's columns and the weight, as `arrow_schema` has them."""

    table: pa.Table

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.table.num_rows)


Part: TypeAlias = InFile | InMemory

Stretch: TypeAlias = tuple[int | None, int | None, tuple[AddedColumn, ...]]
"""What is read of a file: after one offset, up to another, and the columns that it lacks."""


def files_by_stretch(parts: Iterable[InFile]) -> Mapping[Stretch, list[str]]:
    """The files that are read alike, most of them as a whole."""
    stretches: dict[Stretch, list[str]] = {}
    for part in parts:
        stretches.setdefault((part.after, part.upto, part.added), []).append(part.uri)
    return stretches


class Buffers(Protocol):
    """Where the rows of buffers lie."""

    def parts(self, buffer: int, range: Range) -> Sequence[Part]:
        """The rows of a buffer in a range, in parts."""

    def count(self, buffer: int, range: Range) -> int:
        """How many rows came in a range, whether or not they are needed."""

    def names(self, buffer: int) -> Mapping[int, str]:
        """What the plan's columns are called in the buffer's files."""


@dataclass(frozen=True, slots=True)
class Folder:
    """Where an engine may write an outcome itself, and the offset that its rows get there.

    The folder is not there yet, and what is in it does not count before it is sealed.
    """

    uri: str
    offset: int


StateName: TypeAlias = tuple[str, frozenset[str]]
"""A content that is kept by a key: the name of its buffer, and of its columns in files."""


@dataclass(frozen=True, slots=True)
class StateBudget:
    """What a query may keep to look rows up: so many bytes in all, and nothing of what is `dropped`.

    What several queries keep is paid by one of them. `holds_contents`: whether the engine may hold rows that
    are scanned, in memory that no query pays for.
    """

    query: str = ""
    most_bytes: float = math.inf
    dropped: frozenset[StateName] = frozenset()
    holds_contents: bool = True


UNBOUNDED: Final = StateBudget()


@dataclass(frozen=True, slots=True)
class Firing:
    """A subplan and how far it reads, buffer by buffer; its own range says what it wrote so far.

    The first firing of a subplan runs whether or not anything changed. `consolidate`: it sees no row that
    was taken back, so that none can raise an error.
    Without a `folder` the outcome has to be handed over in memory, however large it is.
    `engine`: the name of the engine that is to compute it, where there are several; none: whichever can.
    `states`: what may be kept to look rows up.
    """

    subplan: Subplan
    ranges: Mapping[int, Range]
    schemas: Mapping[int, Schema]
    environment: Environment = DEFAULT
    first: bool = False
    consolidate: bool = False
    folder: Folder | None = None
    engine: str = ""
    states: StateBudget = UNBOUNDED

    @property
    def schema(self) -> Schema:
        """How the rows that come out are stored."""
        return self.schemas[self.subplan.writes]

    @property
    def changed(self) -> tuple[int, ...]:
        """The buffers of others of which something new is read."""
        own = self.subplan.writes
        return tuple(buffer for buffer, (start, end) in self.ranges.items() if buffer != own and start < end)

    def rows_in(self, buffers: Buffers) -> int:
        """How many rows came in these."""
        return sum(buffers.count(buffer, self.ranges[buffer]) for buffer in self.changed)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a firing gave: rows by the schema of the buffer, and how many rows it was fed with.

    `engine` is the name of the engine that computed it; none where nothing had to be computed. `reason`: why
    that is not the engine that was to. `repeated`: another one had begun and given up.
    `in_folder`: how many rows there are in the firing's folder, in Parquet files with the columns of batches;
    then there are none in memory.
    """

    rows: pa.Table
    rows_in: int
    jobs: int
    engine: str = ""
    in_folder: int | None = None
    reason: str = ""
    repeated: bool = False


class Executor(Protocol):
    """An engine that has been started, used by one thread; others may call `interrupt`, `kept` and `allow`.

    Whatever goes wrong is an error of `catalog.errors`: EngineLost where the executor is of no more use.
    """

    def fire(self, firing: Firing, buffers: Buffers) -> Outcome:
        """The change of the buffer that the subplan writes; nothing runs where nothing came."""

    def warm(self) -> None:
        """Do what the first firing would have to wait for, if there is anything."""
        return

    @property
    def waits_for(self) -> str | None:
        """The engine whose start a firing waits for; None where it waits for none."""
        return None

    def has_ended(self) -> bool:
        """Whether it has ended by itself, and another one has to be started."""
        return False

    def processor_seconds(self) -> float | None:
        """What processors have spent on it so far; None where that is not known."""

    def kept(self, folder: str) -> Sequence[ArrangementRow]:
        """The rows of buffers below a folder that are kept to be looked up; any thread may ask."""
        return ()

    def allow(self, states: StateBudget) -> None:
        """Keep no more for a query than this from now on; any thread may say so."""
        return

    def interrupt(self) -> None:
        """End what it does now, with an error; it can be used again."""

    def close(self) -> None:
        """End it, and whatever was started for it, if anything was."""
        return


class Engine(Protocol):
    """A kind of executor: what it can compute is known before one is started.

    `name`: what users know it by.
    """

    name: str

    def schemas(self, plan: DeltaPlan, environment: Environment) -> Mapping[int, Schema]:
        """How the columns of each buffer are stored; a refusal where the engine cannot compute the plan."""

    def engines(
        self, plan: DeltaPlan, schemas: Mapping[int, Schema], environment: Environment
    ) -> tuple[EngineLimits, ...]:
        """The engines that compute firings for it, and what each can; the last one computes everything."""
        return (EngineLimits(self.name),)

    def foresee(self, engines: Collection[str]) -> None:
        """Firings on these engines will be asked for soon: one that has to be started may be when warmed."""
        return

    def beside(self) -> Engine:
        """The same for another thread: its executors work at the same time as those of this one."""
        return self

    def start(self, go_on: Callable[[], bool]) -> Executor:
        """An executor, as long as somebody wants it; an error that says why there is none."""


def range_at(range: Range, moment: Moment) -> Range:
    """The range of offsets whose changes are what is seen at a moment."""
    start, end = range
    match moment:
        case Moment.BEFORE:
            return 0, start
        case Moment.CHANGE:
            return start, end
        case Moment.AFTER:
            return 0, end
        case _:
            assert_never(moment)
