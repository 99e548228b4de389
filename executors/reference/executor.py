"""The reference as an executor: for tests, and to compare other engines with; it keeps all rows in memory."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs

from catalog.errors import DamagedBatch, EngineFailed, NotMaintainable
from dialect.expressions.environment import Environment
from dialect.expressions.scalar import Call
from executors.executor import Buffers, Engine, Executor, Firing, InFile, InMemory, Outcome, Part, range_at
from executors.reference.arrow import as_changes, as_table, require_values
from executors.reference.firing import Changes, consolidated
from executors.reference.values.functions import FUNCTIONS, LENIENT
from executors.reference.values.input import read
from executors.reference.weighted import evaluate_weighted
from executors.rows import OFFSET, WEIGHT, Schema, name_of
from executors.settings import EngineSettings
from planner.algebra.logical import Field
from planner.delta.weighted import DeltaPlan, Guard, Moment, NodeBuffer


class ReferenceEngine(Engine):
    """The engine that computes in plain Python, in the process that asks."""

    name = "plain Python"

    @staticmethod
    def of(_settings: EngineSettings) -> ReferenceEngine:
        """The engine, which has no settings."""
        return ReferenceEngine()

    def schemas(self, plan: DeltaPlan, environment: Environment) -> Mapping[int, Schema]:
        """Every column as its type is stored in tables."""
        schemas = {
            buffer.number: {column.column: environment.storage(column.type) for column in buffer.fields}
            for buffer in plan.buffers
        }
        for buffer in plan.buffers:
            for column in buffer.fields:
                name = column.name if isinstance(buffer, NodeBuffer) else f"{buffer.table.name}.{column.name}"
                require_values(schemas[buffer.number][column.column], name)
        for call in _calls(plan):
            if call.function not in FUNCTIONS and call.function not in LENIENT:
                raise NotMaintainable(f"the function {call.name} in plain Python")
        return schemas

    def start(self, _go_on: Callable[[], bool]) -> ReferenceExecutor:
        """An executor, for which nothing has to be started."""
        return ReferenceExecutor()


class ReferenceExecutor(Executor):
    """Evaluates one subplan after the other; `executors/executor.py` says what each method owes."""

    def __init__(self) -> None:
        self._interrupted = threading.Event()

    def fire(self, firing: Firing, buffers: Buffers) -> Outcome:
        """Evaluate every step by its definition."""
        rows_in = firing.rows_in(buffers)
        if rows_in == 0 and not firing.first:
            return Outcome(as_table([], firing.schema), 0, 0)
        self._interrupted.clear()
        stored = _Stored(firing, buffers, self._interrupted)
        with _errors_in_our_words():
            for step in firing.subplan.steps:
                stored.steps[step.number] = evaluate_weighted(step.outcome, stored)
            changes = stored.steps[firing.subplan.steps[-1].number]
            return Outcome(as_table(changes, firing.schema), rows_in, 1, ReferenceEngine.name)

    def processor_seconds(self) -> float:
        """The seconds of a processor that the asking thread has spent."""
        return time.thread_time()

    def interrupt(self) -> None:
        """End the firing at its next row."""
        self._interrupted.set()


@dataclass(frozen=True, slots=True)
class _Stored:
    """A firing's inputs, read from where batches store them."""

    firing: Firing
    buffers: Buffers
    interrupted: threading.Event
    steps: dict[int, Changes] = field(default_factory=dict)

    def read(self, buffer: int, moment: Moment, columns: Sequence[Field]) -> Changes:
        """A buffer's rows at a moment, by these columns."""
        self.go_on()
        schema = self.firing.schemas[buffer]
        changes = [
            change
            for part in self.buffers.parts(buffer, range_at(self.firing.ranges[buffer], moment))
            for change in self._changes(part, schema, self.buffers.names(buffer))
        ]
        if self.firing.consolidate:
            changes = consolidated(changes)
        places = [list(schema).index(column.column) for column in columns]
        return [(tuple(row[place] for place in places), weight) for row, weight in changes]

    def holds(self, _guard: Guard) -> bool:
        """Choices have been made when the subplan was specialised for the firing."""
        return False

    def go_on(self) -> None:
        """Raise where somebody has interrupted the firing."""
        if self.interrupted.is_set():
            raise EngineFailed("the computation was interrupted")

    def _changes(self, part: Part, schema: Schema, names: Mapping[int, str]) -> Changes:
        match part:
            case InMemory(table=table):
                return as_changes(table.select([*map(name_of, schema), WEIGHT]), list(schema.values()))
            case InFile():
                return _in_file(part, schema, names)


def _in_file(part: InFile, schema: Schema, names: Mapping[int, str]) -> Changes:
    added = {column.name: read(column.text, column.type) for column in part.added}
    stored = {column: storage for column, storage in schema.items() if names[column] not in added}
    table = _read(part.uri, [*(names[column] for column in stored), WEIGHT, OFFSET])
    if part.after is not None:
        table = table.filter(pc.field(OFFSET) > part.after)
    if part.upto is not None:
        table = table.filter(pc.field(OFFSET) <= part.upto)
    changes = as_changes(table.drop_columns([OFFSET]), list(stored.values()))
    if not added:
        return changes
    places = {column: place for place, column in enumerate(stored)}
    return [
        (
            tuple(row[places[column]] if column in places else added[names[column]] for column in schema),
            weight,
        )
        for row, weight in changes
    ]


def _read(uri: str, columns: Sequence[str]) -> pa.Table:
    files, path = fs.FileSystem.from_uri(uri)
    try:
        return pq.read_table(path, columns=list(columns), filesystem=files)
    except FileNotFoundError as error:
        raise DamagedBatch(f"file {uri} is missing") from error


@contextmanager
def _errors_in_our_words() -> Iterator[None]:
    try:
        yield
    except (OverflowError, NotImplementedError, pa.ArrowException) as error:
        raise EngineFailed(f"plain Python cannot do this: {error}") from error


def _calls(node: object) -> Iterator[Call]:
    """All calls of functions anywhere in a plan."""
    if isinstance(node, Call):
        yield node
    if isinstance(node, tuple):
        for member in node:
            yield from _calls(member)
    elif is_dataclass(node):
        for attribute in fields(node):
            yield from _calls(getattr(node, attribute.name))
