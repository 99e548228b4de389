"""Which arrangements there are: each is made when it is first asked for, and goes when others need its room.

They are caches: whatever happens to one, the log has the rows. Many rows are arranged in a thread of its own,
while firings scan them; few are at once, by the firing that asks.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import duckdb
import pyarrow as pa

from catalog.failpoints import failpoint
from catalog.queries.arrangements import ArrangementRow
from executors.duckdb.arrangement import ArrangedBy, Arrangement, KeyColumn
from executors.duckdb.idle import given_up
from executors.duckdb.sorted_run import Hashes
from executors.duckdb.whole_files import WholeFiles, state_name
from executors.executor import UNBOUNDED, StateBudget, StateName
from sources.warehouse.warehouse import offset_of

log = logging.getLogger(__name__)

FEWEST_ROWS: Final = int(os.environ.get("GAVIAL_FEWEST_ARRANGED_ROWS", 50_000))
"""Fewer rows than these are scanned as fast as a further statement is run; tests with few rows lower it."""

AT_ONCE: Final = 100_000
"""So many rows are arranged by the firing that asks for them; more take another thread."""

IDLE_FIRINGS: Final = 1_000
"""An arrangement that was not used in so many firings makes room for another one. What could not be arranged
is tried again after as many."""


COMPARED: Final = "GAVIAL_COMPARE_LOOK_UPS" in os.environ
"""Whether each look-up is computed a second time, by a scan, and must find the same: a mode for tests."""


NO_ROOM: Final = "--memory-budget has no room for them"
NO_BUDGET: Final = "the memory budget of the query has no room for them"


@dataclass(frozen=True, slots=True)
class Found:
    """What arrangements have of the wanted files, and the files that they have not."""

    batches: Sequence[pa.RecordBatch]
    rest: Sequence[str]


@dataclass(frozen=True, slots=True)
class Room:
    """Where arrangements lie, and how many bytes they may take; the rest is for tests to set."""

    directory: Path
    most_bytes: int
    fewest_rows: int = FEWEST_ROWS
    at_once: int = AT_ONCE
    is_compared: bool = COMPARED


@dataclass(frozen=True, slots=True)
class _Refusal:
    """An arrangement that is done without, since which firing, for which query and why; what it had been
    expected to take."""

    firing: int
    query: str
    why: str
    columns: Sequence[str]
    bytes: int


class Arrangements:
    """The arrangements of a process, used by one thread, while another one makes those of many rows.

    An arrangement is never changed while it is used: a new one is put in its place. `in_work` are those that
    the other thread makes; `apart` those whose files have different columns, so that each set of columns has
    an arrangement of its own.
    """

    def __init__(self, open_database: Callable[[], duckdb.DuckDBPyConnection], room: Room) -> None:
        self._open_database = open_database
        self._room = room
        self._lock = threading.Lock()
        self._kept: dict[ArrangedBy, Arrangement] = {}
        self._in_work: dict[ArrangedBy, Arrangement] = {}
        self._budgets: dict[str, StateBudget] = {}
        self._apart: set[ArrangedBy] = set()
        self._refused: dict[ArrangedBy, _Refusal] = {}
        self._firings = 0
        self._maker = ThreadPoolExecutor(1, "arrangements")
        self._database: duckdb.DuckDBPyConnection | None = None
        self._is_closed = False

    def begin(self, states: StateBudget = UNBOUNDED) -> None:
        """Begin a firing of a query that may keep this."""
        self._firings += 1
        self.allow(states)

    def allow(self, states: StateBudget) -> None:
        """Keep no more than this for a query; what it may not keep goes, or another one pays for it."""
        with self._lock:
            if self._budgets.get(states.query) == states:
                return
            self._budgets[states.query] = states
            self._refused = {
                by: refusal for by, refusal in self._refused.items() if refusal.query != states.query
            }
            before = len(self._kept)
            for by, arrangement in tuple(self._kept.items()):
                if _name(by) in states.dropped and states.query in arrangement.queries:
                    self._release(arrangement, states.query)
            own = sorted(self._paid_by(states.query), key=lambda one: one.last_use)
            excess = sum(one.bytes for one in own) - states.most_bytes
            for arrangement in own:
                if excess > 0:
                    excess -= arrangement.bytes
                    self._release(arrangement, states.query)
            has_dropped = len(self._kept) < before
        if has_dropped:
            failpoint("arrangement: dropped")

    def find(
        self,
        connection: duckdb.DuckDBPyConnection,
        files: WholeFiles,
        key: tuple[KeyColumn, ...],
        hashes: Hashes,
        states: StateBudget = UNBOUNDED,
    ) -> Found:
        """The rows of these files whose key has one of these hashes, and perhaps others."""
        by, columns = ArrangedBy(files.folder, key), files.columns
        if by in self._apart:
            by = replace(by, only=tuple(sorted(columns)))
        arrangement = self._arranged(connection, by, files, states)
        if arrangement is None or not arrangement.has(columns):
            return Found((), tuple(files.rows))
        with self._lock:
            arrangement.uses += 1
            arrangement.last_use = self._firings
            arrangement.last_used = time.time()
            if states.query not in arrangement.queries:
                arrangement.queries = (*arrangement.queries, states.query)
        batches = arrangement.find(tuple(files.rows), hashes, tuple(columns))
        return Found(batches, tuple(path for path in files.rows if path not in arrangement.files))

    def are_worth(self, rows: int) -> bool:
        """Whether so many rows are looked up rather than scanned."""
        return self._room.most_bytes > 0 and rows >= self._room.fewest_rows

    @property
    def are_compared(self) -> bool:
        """Whether what is looked up is compared with what a scan finds."""
        return self._room.is_compared

    def kept(self) -> Sequence[Arrangement]:
        """The arrangements that there are."""
        with self._lock:
            return tuple(self._kept.values())

    def listed(self, folder: str) -> Sequence[ArrangementRow]:
        """The arrangements of buffers below a folder, and those that there is no room for."""
        with self._lock:
            kept = {by: _row(arrangement) for by, arrangement in self._kept.items()}
            refused = {by: _row_of_refused(by, refusal) for by, refusal in self._refused.items()}
        return [row for by, row in (refused | kept).items() if os.path.dirname(by.folder) == folder]

    def settle(self) -> None:
        """Wait until nothing is being arranged."""
        self._maker.submit(lambda: None).result()

    def close(self) -> None:
        """Give everything back, and end what is being arranged."""
        self._is_closed = True
        self._maker.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            self._kept.clear()
            if self._database is not None:
                self._database.interrupt()

    def _arranged(
        self, connection: duckdb.DuckDBPyConnection, by: ArrangedBy, files: WholeFiles, states: StateBudget
    ) -> Arrangement | None:
        """The arrangement as it is now, after few rows were added, or many are being added."""
        with self._lock:
            present = self._kept.get(by)
            refusal = self._refused.get(by)
            is_refused = refusal is not None and self._firings - refusal.firing <= IDLE_FIRINGS
            if by in self._in_work or is_refused:
                return present
        wanted = present
        if wanted is None or not wanted.has(files.columns):
            asked = {**(present.columns if present is not None else {}), **files.columns}
            queries = present.queries if present is not None else (states.query,)
            wanted = Arrangement(by, asked, self._room.directory, queries=queries)
        missing = {path: rows for path, rows in files.rows.items() if path not in wanted.files}
        if not missing or not self._has_room(wanted, sum(missing.values())):
            return present
        if sum(missing.values()) > self._room.at_once:
            with self._lock:
                self._in_work[by] = wanted
            self._maker.submit(self._make, wanted, missing)
            return present
        self._add(connection, wanted, missing)
        return self._kept.get(by)

    def _make(self, arrangement: Arrangement, missing: Mapping[str, int]) -> None:
        """Arrange many rows, in the thread for it."""
        with self._open_database() as database:
            with self._lock:
                self._database = database
            try:
                if not self._is_closed:
                    self._add(database, arrangement, missing)
            except duckdb.InterruptException:
                log.debug("arranging %s was ended", arrangement.by.folder)
            finally:
                with self._lock:
                    self._database = None
                    self._in_work.pop(arrangement.by, None)

    def _add(
        self, connection: duckdb.DuckDBPyConnection, arrangement: Arrangement, missing: Mapping[str, int]
    ) -> None:
        """Put an arrangement that has these files too in the place of what there is."""
        by = arrangement.by
        try:
            added = arrangement.with_files(connection, missing)
        except duckdb.InterruptException:
            raise
        except duckdb.BinderException:  # a file is older than a column that another query reads
            with self._lock:
                self._kept.pop(by, None)
                if by.only:
                    self._refuse(arrangement, "a file lacks a column")
                else:
                    self._apart.add(by)
            return
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            with self._lock:
                self._kept.pop(by, None)
                self._refuse(arrangement, _reason(error))
            return
        failpoint("arrangement: caught up" if arrangement.files else "arrangement: made")
        with self._lock:
            if self._is_closed:
                return
            is_dropped, has_budget = self._is_dropped(added), self._excess(added, added.bytes) <= 0
            if is_dropped or not has_budget:
                self._kept.pop(by, None)
            if not has_budget:
                self._refuse(replace(added, expected_bytes=added.bytes), NO_BUDGET)
            elif not is_dropped:
                self._kept[by] = added
                self._refused.pop(by, None)

    def _refuse(self, arrangement: Arrangement, why: str) -> None:
        """Do without for a while, and say it once."""
        by, before = arrangement.by, self._refused.get(arrangement.by)
        columns = tuple(arrangement.columns)
        query = arrangement.queries[0] if arrangement.queries else ""
        self._refused[by] = _Refusal(self._firings, query, why, columns, arrangement.expected_bytes)
        if before is None or before.why != why:
            log.warning("the rows of %s are not kept by key, so that they are scanned: %s", by.folder, why)

    def _has_room(self, arrangement: Arrangement, rows: int) -> bool:
        """Whether so many rows more fit, after arrangements that nobody uses any more have gone."""
        arrangement.expected_bytes = needed = arrangement.bytes + rows * arrangement.width
        with self._lock:
            others = [other for by, other in self._kept.items() if by != arrangement.by]
            sizes = {other.by: other.bytes for other in others}
            sizes |= {by: other.expected_bytes for by, other in self._in_work.items()}
            excess = needed + sum(sizes.values()) - self._room.most_bytes
            has_budget = self._excess(arrangement, needed) <= 0
            idle = given_up(others, excess, used_before=self._firings - IDLE_FIRINGS) if has_budget else None
            gone = list(idle or ())
            has_room = idle is not None
            if not has_room:
                gone = [self._kept[arrangement.by]] if arrangement.by in self._kept else []
                self._refuse(arrangement, NO_ROOM if has_budget else NO_BUDGET)
            for other in gone:
                del self._kept[other.by]
        if gone:
            failpoint("arrangement: dropped")
        return has_room

    def _excess(self, arrangement: Arrangement, needed: int) -> float:
        """By how many bytes who pays for an arrangement would be above the budget, if it took so many."""
        query = arrangement.queries[0]
        sizes = {other.by: other.bytes for other in self._paid_by(query)}
        for other in self._in_work.values():
            if other.queries[:1] == (query,):
                sizes[other.by] = other.expected_bytes
        sizes[arrangement.by] = needed
        return sum(sizes.values()) - self._budgets.get(query, UNBOUNDED).most_bytes

    def _is_dropped(self, arrangement: Arrangement) -> bool:
        """Whether who pays for an arrangement keeps it no more."""
        name = _name(arrangement.by)
        return name in self._budgets.get(arrangement.queries[0], UNBOUNDED).dropped

    def _paid_by(self, query: str) -> list[Arrangement]:
        """The arrangements that a query pays for."""
        return [one for one in self._kept.values() if one.queries[:1] == (query,)]

    def _release(self, arrangement: Arrangement, query: str) -> None:
        """Keep an arrangement no more for a query: it goes, or the next one that has room pays for it."""
        arrangement.queries = tuple(other for other in arrangement.queries if other != query)
        if not arrangement.queries or self._excess(arrangement, arrangement.bytes) > 0:
            self._kept.pop(arrangement.by, None)


def _name(by: ArrangedBy) -> StateName:
    return state_name(by.folder, (column.name for column in by.key))


def _reason(error: Exception) -> str:
    """Why there is no arrangement: the same words for the same fault, without names of temporary files."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).partition("\n")[0]


def _row(arrangement: Arrangement) -> ArrangementRow:
    return ArrangementRow(
        os.path.basename(arrangement.by.folder),
        [column.name for column in arrangement.by.key],
        list(arrangement.columns),
        kept=True,
        why="runs look rows up by these columns",
        predicted_bytes=arrangement.expected_bytes,
        bytes=arrangement.bytes,
        rows=arrangement.rows,
        files=len(arrangement.files),
        reached=max(map(offset_of, arrangement.files), default=None),
        uses=arrangement.uses,
        last_used=arrangement.last_used,
    )


def _row_of_refused(by: ArrangedBy, refusal: _Refusal) -> ArrangementRow:
    return ArrangementRow(
        os.path.basename(by.folder),
        [column.name for column in by.key],
        refusal.columns,
        kept=False,
        why=refusal.why,
        predicted_bytes=refusal.bytes,
        bytes=0,
        rows=0,
        files=0,
        reached=None,
        uses=0,
        last_used=None,
    )
