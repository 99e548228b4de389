"""A subplan as one statement of DuckDB: every node a SELECT with a column `weight`, every step a WITH."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from catalog.errors import FeatureNotSupported
from catalog.postgres.storage import Storage
from dialect.duckdb.equality import any_of, compared, identity
from dialect.duckdb.expressions import render
from dialect.duckdb.numbers import converted
from dialect.duckdb.rendered import NotWritten, Rendered, cast
from dialect.expressions.scalar import Scalar
from dialect.expressions.storages import common_storage, has_forms
from dialect.spark.expressions import Environment
from executors.duckdb.aggregates import grouped, order_by, tallied
from executors.duckdb.relation import Relation, listed, selection
from executors.rows import WEIGHT, Schema
from planner.algebra.logical import Field
from planner.delta.weighted import (
    AsSet,
    Choose,
    Consolidate,
    DeltaFilter,
    DeltaProject,
    First,
    Groups,
    KeySemiJoin,
    Moment,
    Negate,
    Pairs,
    PartialAggregate,
    Read,
    Rows,
    SemiJoin,
    StepRef,
    Subplan,
    Sum,
    Weighted,
)

_LARGEST: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Statement:
    """A subplan's steps, the SELECT over the last of them, and the views that it reads, by `view_of`."""

    steps: str
    outcome: str
    reads: tuple[tuple[int, Moment], ...]


def view_of(buffer: int, moment: Moment) -> str:
    """The name of the rows of a buffer at a moment."""
    return f"buffer_{buffer}_{moment.value}"


def compile_subplan(subplan: Subplan, schemas: Mapping[int, Schema], environment: Environment) -> Statement:
    """The statement whose rows are the change of the buffer that is written; else NotWritten."""
    compiler = _Compiler(schemas, environment, {}, set())
    try:
        for step in subplan.steps:
            compiler.steps[step.number] = compiler.compile(step.outcome)
        last = subplan.steps[-1].number
        target = schemas[subplan.writes]
        outcome = compiler.steps[last].columns("outcome").values()
        columns = {
            column: cast(converted(value, target[column]).sql, target[column])
            for column, value in zip(target, outcome, strict=True)
        }
    except FeatureNotSupported as error:
        raise NotWritten(str(error)) from None
    steps = ", ".join(f"step_{number} AS ({relation.sql})" for number, relation in compiler.steps.items())
    written = selection(columns, f"outcome.{WEIGHT}", f"FROM step_{last} AS outcome")
    reads = tuple(sorted(compiler.reads, key=lambda leaf: (leaf[0], leaf[1].value)))
    return Statement(steps, written.sql, reads)


@dataclass(frozen=True, slots=True)
class _Compiler:
    """Compiles the outcomes of one subplan; `steps` and `reads` grow with them."""

    schemas: Mapping[int, Schema]
    environment: Environment
    steps: dict[int, Relation]
    reads: set[tuple[int, Moment]]

    def compile(self, outcome: Weighted) -> Relation:
        """The outcome as a SELECT."""
        match outcome:
            case Read(buffer=buffer, moment=moment, fields=fields):
                self.reads.add((buffer, moment))
                schema = {field.column: self.schemas[buffer][field.column] for field in fields}
                source = f"FROM {view_of(buffer, moment)} AS x"
                return Relation(f"SELECT {listed(schema, 'x')}x.{WEIGHT} {source}", schema)
            case StepRef(step=step, fields=fields):
                values = self.steps[step].columns("x").values()
                columns = {field.column: value for field, value in zip(fields, values, strict=True)}
                return selection(columns, f"x.{WEIGHT}", f"FROM step_{step} AS x")
            case Rows():
                return self._rows(outcome)
            case Pairs():
                return self._pairs(outcome)
            case SemiJoin(left=left, right=right, condition=condition, negated=negated):
                kept, other = self.compile(left), self.compile(right)
                on = self._render(condition, kept.columns("l") | other.columns("r")).sql
                return _kept(kept, other, on, "ANTI" if negated else "SEMI")
            case KeySemiJoin(input=input, of=of, keys=keys):
                kept, other = self.compile(input), self.compile(of)
                ours, theirs = kept.columns("l"), other.columns("r")
                equal = [
                    compared("IS NOT DISTINCT FROM", ours[field.column], theirs[field.column])
                    for field in keys
                ]
                return _kept(kept, other, " AND ".join(equal) or "TRUE", "SEMI")
            case Sum():
                return self._sum(outcome)
            case Choose(general=general):
                return self.compile(general)
            case _:
                return self._over_one(outcome, self.compile(outcome.input))

    def _over_one(
        self,
        outcome: DeltaFilter
        | DeltaProject
        | Negate
        | Consolidate
        | AsSet
        | PartialAggregate
        | Groups
        | First,
        child: Relation,
    ) -> Relation:
        columns, source = child.columns("x"), f"FROM ({child.sql}) AS x"
        match outcome:
            case DeltaFilter(condition=condition):
                return selection(
                    columns, f"x.{WEIGHT}", f"{source} WHERE {self._render(condition, columns).sql}"
                )
            case DeltaProject(columns=computed):
                values = {column.field.column: self._render(column.value, columns) for column in computed}
                return selection(values, f"x.{WEIGHT}", source)
            case Negate():
                return selection(columns, f"-x.{WEIGHT}", source)
            case Consolidate():
                return consolidated(child)
            case AsSet():
                return selection(columns, "1", f"{source} WHERE x.{WEIGHT} > 0")
            case PartialAggregate(keys=keys, columns=tallies):
                return tallied(child, keys, tallies, self._render)
            case Groups(keys=keys, columns=aggregated):
                return grouped(child, keys, aggregated, self._render)
            case First():
                return self._first(outcome, child)
            case _:
                assert_never(outcome)

    def _render(self, scalar: Scalar, columns: Mapping[int, Rendered]) -> Rendered:
        return render(scalar, columns, self.environment.storage)

    def _rows(self, outcome: Rows) -> Relation:
        rows = [[self._render(expression, {}) for expression in row] for row in outcome.rows]
        if not rows:
            return self._nothing(outcome.fields)
        storages = [common_storage([value.storage for value in column]) for column in zip(*rows, strict=True)]
        relations = [
            selection(
                {
                    field.column: converted(value, storage)
                    for field, value, storage in zip(outcome.fields, row, storages, strict=True)
                },
                "1",
                "",
            )
            for row in rows
        ]
        return Relation(" UNION ALL ".join(relation.sql for relation in relations), relations[0].schema)

    def _pairs(self, outcome: Pairs) -> Relation:
        left, right = self.compile(outcome.left), self.compile(outcome.right)
        columns = left.columns("l") | right.columns("r")
        condition = self._render(outcome.condition, columns).sql
        source = f"FROM ({left.sql}) AS l INNER JOIN ({right.sql}) AS r ON {condition}"
        return selection(columns, f"l.{WEIGHT} * r.{WEIGHT}", source)

    def _sum(self, outcome: Sum) -> Relation:
        inputs = [self.compile(input) for input in outcome.inputs]
        if not inputs:
            return self._nothing(outcome.fields)
        storages = [
            common_storage(column)
            for column in zip(*(relation.schema.values() for relation in inputs), strict=True)
        ]
        relations = [_stored_as(input, outcome.fields, storages) for input in inputs]
        return Relation(" UNION ALL ".join(relation.sql for relation in relations), relations[0].schema)

    def _first(self, outcome: First, child: Relation) -> Relation:
        """Rows up to the limit are enough, each counting at least once; then the weights are added up."""
        columns = child.columns("x")
        if any(has_forms(value.storage) for value in columns.values()):
            raise NotWritten("the first of rows that may be equal and written in several ways")
        order = ", ".join(order_by(key, self._render(key.value, columns)) for key in outcome.order)
        by = f" ORDER BY {order}" if order else ""
        end = _LARGEST if outcome.limit is None else outcome.offset + outcome.limit
        limit = "" if outcome.limit is None else f"{by} LIMIT {end}"
        enough = f"(SELECT * FROM ({child.sql}) AS x{limit}) AS x"
        window = f"({by} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
        counted = f"SELECT x.*, sum(x.{WEIGHT}) OVER {window} AS reached FROM {enough}"
        weight = f"least(x.reached, {end}) - greatest(x.reached - x.{WEIGHT}, {outcome.offset})"
        within = f"WHERE x.reached > {outcome.offset} AND x.reached - x.{WEIGHT} < {end}"
        return selection(columns, weight, f"FROM ({counted}) AS x {within}")

    def _nothing(self, fields: Sequence[Field]) -> Relation:
        nulls = {field.column: cast("NULL", self.environment.storage(field.type)) for field in fields}
        return selection(nulls, "0", "WHERE FALSE")


def _kept(kept: Relation, other: Relation, on: str, kind: str) -> Relation:
    source = f"FROM ({kept.sql}) AS l {kind} JOIN ({other.sql}) AS r ON {on}"
    return selection(kept.columns("l"), f"l.{WEIGHT}", source)


def _stored_as(relation: Relation, fields: Sequence[Field], storages: Sequence[Storage]) -> Relation:
    columns = {
        field.column: converted(value, storage)
        for field, value, storage in zip(fields, relation.columns("x").values(), storages, strict=True)
    }
    return selection(columns, f"x.{WEIGHT}", f"FROM ({relation.sql}) AS x")


def consolidated(child: Relation) -> Relation:
    """Identical rows are summed up: 0 and -0 are equal, but not one row."""
    columns = child.columns("x")
    keys = ", ".join(map(identity, columns.values()))
    by = f" GROUP BY {keys}" if keys else ""
    values = {column: Rendered(any_of(value), value.storage) for column, value in columns.items()}
    total = f"sum(x.{WEIGHT})"
    return selection(values, total, f"FROM ({child.sql}) AS x{by} HAVING {total} <> 0")
