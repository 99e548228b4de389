"""Each node of the algebra of weighted bags as a SELECT."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, assert_never

from catalog.postgres.storage import Storage
from dialect.expressions.scalar import Scalar
from dialect.expressions.storages import common_storage, has_forms
from dialect.spark.comparisons import compared
from dialect.spark.equality import identity, is_identified
from dialect.spark.expressions import Environment, render
from dialect.spark.numbers.written import converted
from dialect.spark.order import sort_key
from dialect.spark.rendered import Rendered, spark_type
from executors.rows import WEIGHT, Schema
from executors.spark.compile.groups import grouped, tallied
from executors.spark.compile.relation import Relation, listed, selection
from planner.algebra.logical import Field, Order
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
    Sum,
    Weighted,
)
from planner.firing.driven import is_driven

_LARGEST: Final = 2**63 - 1


def view_of(buffer: int, moment: Moment) -> str:
    """The name of the view of a buffer's rows at a moment."""
    return f"buffer_{buffer}_{moment.value}"


@dataclass(frozen=True, slots=True)
class Compiler:
    """Compiles the outcomes of one subplan; `steps` and `reads` grow with them.

    `driven` says of each step whether it is about as large as what changed; None where that is not small.
    """

    schemas: Mapping[int, Schema]
    environment: Environment
    steps: dict[int, Relation]
    reads: set[tuple[int, Moment]]
    driven: dict[int, bool] | None = None

    def compile(self, outcome: Weighted) -> Relation:
        """The outcome as a SELECT."""
        match outcome:
            case Read(buffer=buffer, moment=moment, fields=fields):
                self.reads.add((buffer, moment))
                schema = {field.column: self.schemas[buffer][field.column] for field in fields}
                return Relation(f"SELECT {listed(schema)}{WEIGHT} FROM {view_of(buffer, moment)}", schema)
            case StepRef(step=step, fields=fields):
                return _renamed(self.steps[step], fields, f"FROM step_{step} AS x")
            case Rows():
                return self._rows(outcome)
            case Pairs():
                return self._pairs(outcome)
            case SemiJoin(left=left, right=right, condition=condition, negated=negated):
                return self._kept(left, right, condition, "LEFT ANTI" if negated else "LEFT SEMI")
            case KeySemiJoin():
                return self._among(outcome)
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
                return _consolidated(child)
            case AsSet():
                return selection(columns, "1L", f"{source} WHERE x.{WEIGHT} > 0")
            case PartialAggregate(keys=keys, columns=tallies):
                return tallied(child, keys, tallies, self.environment)
            case Groups(keys=keys, columns=aggregated):
                return grouped(child, keys, aggregated, self.environment)
            case First():
                return self._first(outcome, child)
            case _:
                assert_never(outcome)

    def _render(self, scalar: Scalar, columns: Mapping[int, Rendered]) -> Rendered:
        return render(scalar, columns, self.environment)

    def _rows(self, outcome: Rows) -> Relation:
        rows = [[self._render(expression, {}) for expression in row] for row in outcome.rows]
        if not rows:
            return _nothing({field.column: self.environment.storage(field.type) for field in outcome.fields})
        storages = [common_storage([value.storage for value in column]) for column in zip(*rows, strict=True)]
        relations = [
            selection(
                {
                    field.column: converted(value, storage)
                    for field, value, storage in zip(outcome.fields, row, storages, strict=True)
                },
                "1L",
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
        hint = self._hint(outcome.left, outcome.right, "l") or self._hint(outcome.right, outcome.left, "r")
        return selection(columns, f"l.{WEIGHT} * r.{WEIGHT}", source, hint)

    def _hint(self, small: Weighted, large: Weighted, alias: str) -> str:
        """Spark takes what a join gives for as large as both sides multiplied, and would sort the state."""
        if self.driven is None or not is_driven(small, self.driven) or is_driven(large, self.driven):
            return ""
        return f"/*+ BROADCAST({alias}) */ "

    def _kept(self, left: Weighted, right: Weighted, condition: Scalar, kind: str) -> Relation:
        kept, other = self.compile(left), self.compile(right)
        columns = kept.columns("l")
        on = self._render(condition, columns | other.columns("r")).sql
        source = f"FROM ({kept.sql}) AS l {kind} JOIN ({other.sql}) AS r ON {on}"
        return selection(columns, f"l.{WEIGHT}", source, self._hint(right, left, "r"))

    def _among(self, outcome: KeySemiJoin) -> Relation:
        kept, other = self.compile(outcome.input), self.compile(outcome.of)
        columns, others = kept.columns("l"), other.columns("r")
        equal = [compared("<=>", columns[field.column], others[field.column]) for field in outcome.keys]
        on = " AND ".join(equal) if equal else "TRUE"
        source = f"FROM ({kept.sql}) AS l LEFT SEMI JOIN ({other.sql}) AS r ON {on}"
        return selection(columns, f"l.{WEIGHT}", source, self._hint(outcome.of, outcome.input, "r"))

    def _sum(self, outcome: Sum) -> Relation:
        inputs = [self.compile(input) for input in outcome.inputs]
        if not inputs:
            return _nothing({field.column: self.environment.storage(field.type) for field in outcome.fields})
        storages = [
            common_storage(column)
            for column in zip(*(relation.schema.values() for relation in inputs), strict=True)
        ]
        relations = [_as(input, outcome.fields, storages) for input in inputs]
        return Relation(" UNION ALL ".join(relation.sql for relation in relations), relations[0].schema)

    def _first(self, outcome: First, child: Relation) -> Relation:
        """Rows up to the limit are enough, each counting at least once; then the weights are added up."""
        columns = child.columns("x")
        # Which of equal values comes first does not hang on how Spark reads them.
        forms = [identity(value) for value in columns.values() if has_forms(value.storage)]
        order = ", ".join([*(self._order(key, columns) for key in outcome.order), *forms])
        by = f" ORDER BY {order}" if order else ""
        end = _LARGEST if outcome.limit is None else outcome.offset + outcome.limit
        limit = "" if outcome.limit is None else f"{by} LIMIT {end}"
        enough = f"(SELECT * FROM ({child.sql}) AS x{limit}) AS x"
        reached = f"sum(x.{WEIGHT}) OVER ({by} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS reached"
        counted = f"SELECT {listed(child.schema, 'x')}x.{WEIGHT}, {reached} FROM {enough}"
        weight = f"least(x.reached, {end}L) - greatest(x.reached - x.{WEIGHT}, {outcome.offset}L)"
        within = f"WHERE x.reached > {outcome.offset}L AND x.reached - x.{WEIGHT} < {end}L"
        return selection(columns, weight, f"FROM ({counted}) AS x {within}")

    def _order(self, order: Order, columns: Mapping[int, Rendered]) -> str:
        self.environment.check_order(order.value.type.collation, "an order of texts")
        if not order.breaks_ties:
            self.environment.check_sortable(order.value.type)
        value = sort_key(self._render(order.value, columns))
        direction = "DESC" if order.descending else "ASC"
        return f"{value} {direction} NULLS {'FIRST' if order.nulls_first else 'LAST'}"


def _renamed(relation: Relation, fields: Sequence[Field], source: str) -> Relation:
    values = relation.columns("x").values()
    columns = {field.column: value for field, value in zip(fields, values, strict=True)}
    return selection(columns, f"x.{WEIGHT}", source)


def _as(relation: Relation, fields: Sequence[Field], storages: Sequence[Storage]) -> Relation:
    columns = {
        field.column: converted(value, storage)
        for field, value, storage in zip(fields, relation.columns("x").values(), storages, strict=True)
    }
    return selection(columns, f"x.{WEIGHT}", f"FROM ({relation.sql}) AS x")


def _nothing(schema: Schema) -> Relation:
    nulls = {
        column: Rendered(f"CAST(NULL AS {spark_type(storage)})", storage)
        for column, storage in schema.items()
    }
    return selection(nulls, "0L", "WHERE FALSE")


def _consolidated(child: Relation) -> Relation:
    """Identical rows are summed up: 0 and -0 are equal, but not one row."""
    total = f"sum(x.{WEIGHT})"
    columns = child.columns("x")
    keys = ", ".join(map(identity, columns.values()))
    by = f" GROUP BY {keys}" if keys else ""
    values = {
        column: value if is_identified(value.storage) else replace(value, sql=f"any_value({value.sql})")
        for column, value in columns.items()
    }
    return selection(values, total, f"FROM ({child.sql}) AS x{by} HAVING {total} <> 0")
