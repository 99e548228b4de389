"""Each node of the algebra of weighted bags as a SELECT."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, assert_never

from catalog.postgres.storage import Storage
from dialect.expressions.environment import Environment
from dialect.expressions.rendered import Rendered
from dialect.expressions.scalar import Scalar
from dialect.expressions.storages import common_storage
from executors.rows import WEIGHT, Schema
from executors.sql.relation import Relation, listed, selection, viewed
from planner.algebra.logical import Aggregated, Field, Order
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
    Tallied,
    Weighted,
)

_LARGEST: Final = 2**63 - 1


def view_of(buffer: int, moment: Moment) -> str:
    """The name of the rows of a buffer at a moment."""
    return f"buffer_{buffer}_{moment.value}"


def step_view(number: int) -> str:
    """The name of the rows of a step."""
    return f"step_{number}"


@dataclass(frozen=True, slots=True)
class NodeCompiler(ABC):
    """Compiles the outcomes of one subplan; `steps` and `reads` grow with them.

    What engines write in different ways is for the classes of the engines to say.
    """

    SEMI: ClassVar[str]
    ANTI: ClassVar[str]

    schemas: Mapping[int, Schema]
    environment: Environment
    steps: dict[int, Relation]
    reads: set[tuple[int, Moment]]

    @abstractmethod
    def _render(self, scalar: Scalar, columns: Mapping[int, Rendered]) -> Rendered:
        """The expression over these columns."""

    @abstractmethod
    def _converted(self, value: Rendered, storage: Storage) -> Rendered:
        """The value, stored so."""

    @abstractmethod
    def _same(self, left: Rendered, right: Rendered) -> str:
        """Whether two values are not distinct."""

    @abstractmethod
    def _null(self, storage: Storage) -> Rendered:
        """NULL, stored so."""

    @abstractmethod
    def _number(self, number: int) -> str:
        """A constant of 64 bits."""

    @abstractmethod
    def _total(self, window: str = "") -> str:
        """The sum of the weights in 64 bits."""

    @abstractmethod
    def _consolidated(self, child: Relation) -> Relation:
        """Identical rows summed up: 0 and -0 are equal, but not one row."""

    @abstractmethod
    def _tallied(self, child: Relation, keys: Sequence[Field], columns: Sequence[Tallied]) -> Relation:
        """The keys of each group with its tallies, by weights of either sign."""

    @abstractmethod
    def _grouped(self, child: Relation, keys: Sequence[Field], columns: Sequence[Aggregated]) -> Relation:
        """The keys of each group with its aggregates, a row of weight w counting w times."""

    @abstractmethod
    def _ordered(self, keys: Sequence[Order], columns: Mapping[int, Rendered]) -> Sequence[str]:
        """The keys of an order in which equal rows that are written differently have a place of their own."""

    def _hint(self, _small: Weighted, _large: Weighted, _alias: str) -> str:
        """What tells the engine how to join these, if anything does."""
        return ""

    def compile(self, outcome: Weighted) -> Relation:
        """The outcome as a SELECT."""
        match outcome:
            case Read(buffer=buffer, moment=moment, fields=fields):
                self.reads.add((buffer, moment))
                schema = {field.column: self.schemas[buffer][field.column] for field in fields}
                return viewed(view_of(buffer, moment), schema)
            case StepRef(step=step, fields=fields):
                relation = self.steps[step]
                pairs = zip(fields, relation.columns("x").values(), strict=True)
                columns = {field.column: value for field, value in pairs}
                if list(columns) == list(relation.schema):
                    return viewed(step_view(step), relation.schema)
                return selection(columns, f"x.{WEIGHT}", f"FROM {step_view(step)} AS x")
            case Rows():
                return self._rows(outcome)
            case Pairs():
                return self._pairs(outcome)
            case SemiJoin():
                return self._matched(outcome)
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
        columns, source = child.columns("x"), f"FROM {child.source('x')}"
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
                return self._consolidated(child)
            case AsSet():
                return selection(columns, self._number(1), f"{source} WHERE x.{WEIGHT} > 0")
            case PartialAggregate(keys=keys, columns=tallies):
                return self._tallied(child, keys, tallies)
            case Groups(keys=keys, columns=aggregated):
                return self._grouped(child, keys, aggregated)
            case First():
                return self._first(outcome, child)
            case _:
                assert_never(outcome)

    def _rows(self, outcome: Rows) -> Relation:
        rows = [[self._render(expression, {}) for expression in row] for row in outcome.rows]
        if not rows:
            return self._nothing(outcome.fields)
        storages = [common_storage([value.storage for value in column]) for column in zip(*rows, strict=True)]
        return _all_of([self._stored_as(row, outcome.fields, storages, self._number(1), "") for row in rows])

    def _pairs(self, outcome: Pairs) -> Relation:
        left, right = self.compile(outcome.left), self.compile(outcome.right)
        columns = left.columns("l") | right.columns("r")
        condition = self._render(outcome.condition, columns).sql
        source = f"FROM {left.source('l')} INNER JOIN {right.source('r')} ON {condition}"
        hint = self._hint(outcome.left, outcome.right, "l") or self._hint(outcome.right, outcome.left, "r")
        return selection(columns, f"l.{WEIGHT} * r.{WEIGHT}", source, hint)

    def _matched(self, outcome: SemiJoin) -> Relation:
        kept, other = self.compile(outcome.left), self.compile(outcome.right)
        on = self._render(outcome.condition, kept.columns("l") | other.columns("r")).sql
        hint = self._hint(outcome.right, outcome.left, "r")
        return _kept(kept, other, on, self.ANTI if outcome.negated else self.SEMI, hint)

    def _among(self, outcome: KeySemiJoin) -> Relation:
        kept, other = self.compile(outcome.input), self.compile(outcome.of)
        columns, others = kept.columns("l"), other.columns("r")
        equal = [self._same(columns[key.column], others[key.column]) for key in outcome.keys]
        hint = self._hint(outcome.of, outcome.input, "r")
        return _kept(kept, other, " AND ".join(equal) or "TRUE", self.SEMI, hint)

    def _sum(self, outcome: Sum) -> Relation:
        inputs = [self.compile(input) for input in outcome.inputs]
        if not inputs:
            return self._nothing(outcome.fields)
        storages = [
            common_storage(column)
            for column in zip(*(relation.schema.values() for relation in inputs), strict=True)
        ]
        return _all_of(
            self._stored_as(
                input.columns("x").values(),
                outcome.fields,
                storages,
                f"x.{WEIGHT}",
                f"FROM {input.source('x')}",
            )
            for input in inputs
        )

    def _stored_as(
        self,
        row: Iterable[Rendered],
        fields: Sequence[Field],
        storages: Sequence[Storage],
        weight: str,
        source: str = "",
    ) -> Relation:
        columns = {
            field.column: self._converted(value, storage)
            for field, value, storage in zip(fields, row, storages, strict=True)
        }
        return selection(columns, weight, source)

    def _first(self, outcome: First, child: Relation) -> Relation:
        """Rows up to the limit are enough, each counting at least once; then the weights are added up."""
        columns = child.columns("x")
        order = ", ".join(self._ordered(outcome.order, columns))
        by = f" ORDER BY {order}" if order else ""
        end = _LARGEST if outcome.limit is None else outcome.offset + outcome.limit
        limit = "" if outcome.limit is None else f"{by} LIMIT {end}"
        enough = f"(SELECT * FROM {child.source('x')}{limit}) AS x"
        reached = self._total(f" OVER ({by} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)")
        counted = f"SELECT {listed(child.schema, 'x')}x.{WEIGHT}, {reached} AS reached FROM {enough}"
        first, last = self._number(outcome.offset), self._number(end)
        weight = f"least(x.reached, {last}) - greatest(x.reached - x.{WEIGHT}, {first})"
        within = f"WHERE x.reached > {first} AND x.reached - x.{WEIGHT} < {last}"
        return selection(columns, weight, f"FROM ({counted}) AS x {within}")

    def _nothing(self, fields: Sequence[Field]) -> Relation:
        nulls = {field.column: self._null(self.environment.storage(field.type)) for field in fields}
        return selection(nulls, self._number(0), "WHERE FALSE")


def _kept(kept: Relation, other: Relation, on: str, kind: str, hint: str) -> Relation:
    source = f"FROM {kept.source('l')} {kind} JOIN {other.source('r')} ON {on}"
    return selection(kept.columns("l"), f"l.{WEIGHT}", source, hint)


def _all_of(parts: Iterable[Relation]) -> Relation:
    relations = tuple(parts)
    return Relation(" UNION ALL ".join(relation.sql for relation in relations), relations[0].schema)
