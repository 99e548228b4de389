"""Runs a statement step by step: what others are looked up by is computed before them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from executors.duckdb.abilities import READ_TO_CHANGED
from executors.duckdb.arrangement import KeyColumn
from executors.duckdb.arrangements import FEWEST_ROWS, Arrangements
from executors.duckdb.comparing import require_same
from executors.duckdb.compile import LookedUp, Selected, Statement, consolidated
from executors.duckdb.contents import Contents
from executors.duckdb.inputs import Inputs, Statements
from executors.duckdb.sorted_run import Hashes
from executors.duckdb.sources import source_of
from executors.duckdb.whole_files import WholeFiles, state_name, without
from executors.executor import Buffers, Firing, InMemory, Part, range_at
from executors.rows import WEIGHT, Schema, name_of
from executors.sql.nodes import step_view, view_of
from executors.sql.relation import Relation
from planner.delta.weighted import Moment

_NAME: Final = re.compile(r"\b(?:step|buffer)_\w+")
"""What views are called, by `step_view` and `view_of`."""

FEWEST_FILTERED: Final = min(2_000, FEWEST_ROWS)
"""To leave rows out costs more than fewer rows than these cost later."""


class NotComputed(Exception):
    """A firing that is not for this process, and why: another engine computes it."""


class GaveUp(NotComputed):
    """A firing that was begun, and has cost something."""


class OutOfMemory(GaveUp):
    """A firing that needs more memory than it may use."""


@dataclass(slots=True)
class Stepping:
    """One firing. By name: `views`, SELECTs of what is not computed yet; `computed`, steps that are."""

    statement: Statement
    statements: Statements
    contents: Contents
    arrangements: Arrangements
    firing: Firing
    buffers: Buffers
    most_rows: float
    views: dict[str, str] = field(default_factory=dict)
    computed: dict[str, pa.Table] = field(default_factory=dict)
    inputs: Inputs = field(default_factory=Inputs)
    rows_read: int = 0

    def run(self) -> pa.Table:
        """The rows of the statement."""
        self.contents.begin()
        self.arrangements.begin(self.firing.states)
        try:
            for buffer, moment in self.statement.reads:
                parts, schema = self._parts(buffer, moment), self.firing.schemas[buffer]
                self.views[view_of(buffer, moment)] = self._scan(buffer, schema, parts)
            for step in self.statement.steps:
                match step:
                    case Selected(number=number, sql=sql):
                        self.views[step_view(number)] = sql
                    case LookedUp(number=number):
                        self.views[step_view(number)] = self._looked_up(step)
            return self._select(self.statement.outcome)
        finally:
            self.inputs.unregister(self.statements.connection)

    def _looked_up(self, step: LookedUp) -> str:
        """A SELECT of the rows with keys of a step: what arrangements find, and what is in other files."""
        parts = self._parts(step.buffer, step.moment)
        names = self.buffers.names(step.buffer)
        whole = WholeFiles.among(parts, step.schema, names)
        if whole is None or not self.arrangements.are_worth(whole.total):
            return self._filtered(step, parts)
        if state_name(whole.folder, (names[column] for column, _ in step.key)) in self.firing.states.dropped:
            return self._filtered(step, parts)
        hashes = self._hashes(step)
        if not hashes.size:
            return self._scan(step.buffer, step.schema, ())
        key = tuple(KeyColumn(names[column], step.schema[column], hashed) for column, hashed in step.key)
        arranged = self.arrangements.find(self.statements.connection, whole, key, hashes, self.firing.states)
        rest = without(parts, whole.rows.keys() - set(arranged.rest))
        if not arranged.batches:
            return self._filtered(step, rest)
        table = pa.Table.from_batches(arranged.batches)
        renamed = table.rename_columns([*(name_of(column) for column in step.schema), WEIGHT])
        looked_up = [InMemory(renamed), *rest]
        if self.arrangements.are_compared:
            self._compare(step, looked_up, parts, whole)
        return self._filtered(step, looked_up)

    def _compare(
        self, step: LookedUp, looked_up: Sequence[Part], parts: Sequence[Part], whole: WholeFiles
    ) -> None:
        """Compare rows that are looked up with all rows of the parts."""
        names = self.buffers.names(step.buffer)
        one, other = (source_of(of, step.schema, names, self.inputs, None) for of in (looked_up, parts))
        _, offset = range_at(self.firing.ranges[step.buffer], step.moment)
        key = ", ".join(names[column] for column, _ in step.key)
        place = f"buffer {Path(whole.folder).name}, key ({key}), offset {offset}"
        require_same(step, one, other, self._select, place)

    def _filtered(self, step: LookedUp, parts: Sequence[Part]) -> str:
        """The rows of parts that have a key of the step; of few rows all."""
        source = self._scan(step.buffer, step.schema, parts)
        if sum(part.rows for part in parts) < FEWEST_FILTERED:
            return source
        wanted = f"SELECT {step.hash} FROM {step_view(step.of)} AS x"
        return f"SELECT y.* FROM ({source}) AS y WHERE {step.own_hash} IN ({wanted})"

    def _hashes(self, step: LookedUp) -> Hashes:
        """What a step looks up by. The step before it is computed, with what all others look up by it."""
        view = step_view(step.of)
        if view not in self.computed:
            asked = [
                other for other in self.statement.steps if isinstance(other, LookedUp) and other.of == step.of
            ]
            hashes = "".join(f", {other.hash} AS {_hash_of(other)}" for other in asked)
            self.computed[view] = self._select(f"SELECT x.*{hashes} FROM {view} AS x")
            self.views[view] = f"SELECT * FROM {self.inputs.table(self.computed[view])}"
        return np.unique(self.computed[view][_hash_of(step)].to_numpy())

    def _parts(self, buffer: int, moment: Moment) -> Sequence[Part]:
        return self.buffers.parts(buffer, range_at(self.firing.ranges[buffer], moment))

    def _scan(self, buffer: int, schema: Schema, parts: Sequence[Part]) -> str:
        """A SELECT of the rows of parts."""
        self.rows_read += sum(part.rows for part in parts)
        if self.rows_read > READ_TO_CHANGED * self.most_rows:
            raise NotComputed(f"{self.rows_read} rows to read")
        contents = self.contents if self.firing.states.holds_contents else None
        sql = source_of(parts, schema, self.buffers.names(buffer), self.inputs, contents)
        return consolidated(Relation(sql, schema)).sql if self.firing.consolidate else sql

    def _select(self, sql: str) -> pa.Table:
        """The rows of a SELECT over views, of which it is given those that it needs."""
        needed = self._needed(sql)
        views = ", ".join(f"{name} AS ({self.views[name]})" for name in self.views if name in needed)
        return self.statements.rows(f"WITH {views} {sql}", self.inputs)

    def _needed(self, sql: str) -> set[str]:
        needed: set[str] = set()
        waiting = [sql]
        while waiting:
            for name in _NAME.findall(waiting.pop()):
                if name in self.views and name not in needed:
                    needed.add(name)
                    waiting.append(self.views[name])
        return needed


def _hash_of(step: LookedUp) -> str:
    return f"hash_{step.number}"
