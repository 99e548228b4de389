"""A subplan for DuckDB: every node a SELECT with a column `weight`, every step a WITH or a look-up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from catalog.errors import FeatureNotSupported
from catalog.postgres.storage import Storage
from dialect.duckdb.equality import any_of, compared, identity
from dialect.duckdb.expressions import render
from dialect.duckdb.numbers import converted
from dialect.duckdb.rendered import NotWritten, Rendered, cast
from dialect.expressions.environment import Environment
from dialect.expressions.scalar import Scalar
from dialect.expressions.storages import has_forms
from executors.duckdb.aggregates import bigint, grouped, order_by, tallied
from executors.duckdb.key_hash import hashed_storage, key_hash
from executors.rows import WEIGHT, Schema
from executors.sql.nodes import NodeCompiler, step_view
from executors.sql.relation import Relation, selection
from planner.algebra.logical import Aggregated, Field, Order
from planner.delta.weighted import Moment, Read, Subplan, Tallied
from planner.firing.stepwise import LookUp, stepwise


@dataclass(frozen=True, slots=True)
class Selected:
    """A step that is a SELECT, over the views of steps before it and of buffers."""

    number: int
    sql: str


@dataclass(frozen=True, slots=True)
class LookedUp:
    """A step that looks rows up: of a buffer at a moment, by some of its columns.

    `hash` is what is looked for, computed from a row `x` of step `of`; `own_hash` what it meets, computed
    from a row `y` of the buffer. `key` has the buffer's columns of which that is the hash, and how each is
    stored before it is hashed. `same`: whether the keys of two such rows are the same.
    """

    number: int
    buffer: int
    moment: Moment
    schema: Schema
    of: int
    hash: str
    own_hash: str
    same: str
    key: tuple[tuple[int, Storage], ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """A subplan's steps, the SELECT over the last of them, and the views that it reads, by `view_of`."""

    steps: tuple[Selected | LookedUp, ...]
    outcome: str
    reads: tuple[tuple[int, Moment], ...]


def compile_subplan(subplan: Subplan, schemas: Mapping[int, Schema], environment: Environment) -> Statement:
    """The statement whose rows are the change of the buffer that is written; else NotWritten."""
    compiler = Compiler(schemas, environment, {}, set())
    steps: list[Selected | LookedUp] = []
    try:
        for step in stepwise(subplan):
            if isinstance(step, LookUp):
                steps.append(compiler.look_up(step))
            else:
                compiler.steps[step.number] = compiler.compile(step.outcome)
                steps.append(Selected(step.number, compiler.steps[step.number].sql))
        last = subplan.steps[-1].number
        target = schemas[subplan.writes]
        outcome = compiler.steps[last].columns("outcome").values()
        columns = {
            column: cast(converted(value, target[column]).sql, target[column])
            for column, value in zip(target, outcome, strict=True)
        }
    except FeatureNotSupported as error:
        raise NotWritten(str(error)) from None
    written = selection(columns, f"outcome.{WEIGHT}", f"FROM {step_view(last)} AS outcome")
    reads = tuple(sorted(compiler.reads, key=lambda leaf: (leaf[0], leaf[1].value)))
    return Statement(tuple(steps), written.sql, reads)


@dataclass(frozen=True, slots=True)
class Compiler(NodeCompiler):
    """Compiles for DuckDB, whose sums of integers have 128 bits."""

    SEMI: ClassVar = "SEMI"
    ANTI: ClassVar = "ANTI"

    def look_up(self, step: LookUp) -> Selected | LookedUp:
        """The step; a SELECT of all rows where its keys cannot be hashed."""
        schema = {field.column: self.schemas[step.buffer][field.column] for field in step.fields}
        keys, own = self.steps[step.of].columns("x"), Relation("", schema).columns("y")
        pairs = [(keys[key.of], own[key.column]) for key in step.keys]
        try:
            hashed = [hashed_storage(one.storage, other.storage) for one, other in pairs]
            hash = key_hash([(one, storage) for (one, _), storage in zip(pairs, hashed, strict=True)])
            own_hash = key_hash([(other, storage) for (_, other), storage in zip(pairs, hashed, strict=True)])
        except (NotWritten, FeatureNotSupported):
            self.steps[step.number] = self.compile(Read(step.buffer, step.moment, step.fields))
            return Selected(step.number, self.steps[step.number].sql)
        self.steps[step.number] = Relation("", schema)
        key = tuple((key.column, storage) for key, storage in zip(step.keys, hashed, strict=True))
        return LookedUp(
            number=step.number,
            buffer=step.buffer,
            moment=step.moment,
            schema=schema,
            of=step.of,
            hash=hash,
            own_hash=own_hash,
            same=" AND ".join(self._same(other, one) for one, other in pairs),
            key=key,
        )

    def _render(self, scalar: Scalar, columns: Mapping[int, Rendered]) -> Rendered:
        return render(scalar, columns, self.environment.storage)

    def _converted(self, value: Rendered, storage: Storage) -> Rendered:
        return converted(value, storage)

    def _same(self, left: Rendered, right: Rendered) -> str:
        return compared("IS NOT DISTINCT FROM", left, right)

    def _null(self, storage: Storage) -> Rendered:
        return cast("NULL", storage)

    def _number(self, number: int) -> str:
        return bigint(str(number))

    def _total(self, window: str = "") -> str:
        return bigint(f"sum(x.{WEIGHT}){window}")

    def _consolidated(self, child: Relation) -> Relation:
        return consolidated(child)

    def _tallied(self, child: Relation, keys: Sequence[Field], columns: Sequence[Tallied]) -> Relation:
        return tallied(child, keys, columns, self._render)

    def _grouped(self, child: Relation, keys: Sequence[Field], columns: Sequence[Aggregated]) -> Relation:
        return grouped(child, keys, columns, self._render)

    def _ordered(self, keys: Sequence[Order], columns: Mapping[int, Rendered]) -> Sequence[str]:
        if any(has_forms(value.storage) for value in columns.values()):
            raise NotWritten("the first of rows that may be equal and written in several ways")
        return [order_by(key, self._render(key.value, columns)) for key in keys]


def consolidated(child: Relation) -> Relation:
    """Identical rows are summed up: 0 and -0 are equal, but not one row."""
    columns = child.columns("x")
    keys = ", ".join(map(identity, columns.values()))
    by = f" GROUP BY {keys}" if keys else ""
    values = {column: Rendered(any_of(value), value.storage) for column, value in columns.items()}
    total = f"sum(x.{WEIGHT})"
    return selection(values, bigint(total), f"FROM {child.source('x')}{by} HAVING {total} <> 0")
