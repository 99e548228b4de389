"""Finds the rows of a buffer that a firing does not need: those with keys that no changed row has.

A join with a change needs only rows whose keys lie among the changed ones. The manifest has the ranges of
both, so whole batches are left out before anything is read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from dialect.expressions.scalar import Reference, Scalar
from planner.algebra.conditions import conjuncts
from planner.algebra.equality import equal_across
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
    SemiJoin,
    StepRef,
    Subplan,
    Sum,
    Weighted,
    fields,
)
from planner.delta.weighted_tree import inputs

Sources: TypeAlias = frozenset[tuple[int, int]]
"""Columns (buffer, column) of changes; a value comes from one of them."""


@dataclass(frozen=True, slots=True)
class Limit:
    """Rows are needed only if the sources have the column's value; `nulls`: NULL is among NULLs."""

    column: int
    sources: Sources
    nulls: bool


Limits: TypeAlias = tuple[Limit, ...]


def limits(subplan: Subplan) -> Mapping[tuple[int, Moment], tuple[Limits, ...]]:
    """Alternatives for each buffer and moment that is read: a row is needed if it meets all limits of one."""
    walk = _Walk({step.number: step.outcome for step in subplan.steps})
    for step in subplan.steps:
        walk.visit(step.outcome, ())
    return {read: tuple(dict.fromkeys(limits)) for read, limits in walk.alternatives.items()}


@dataclass(slots=True)
class _Walk:
    steps: Mapping[int, Weighted]
    alternatives: defaultdict[tuple[int, Moment], list[Limits]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def visit(self, outcome: Weighted, wanted: Limits) -> None:
        """Note the limits on every leaf below the node; `wanted` are those on the columns of its outcome.

        A limit goes below nodes that treat each row by itself, and those that gather rows by its column;
        no other node is known to let it through.
        """
        match outcome:
            case Read(buffer=buffer, moment=moment):
                self.alternatives[buffer, moment].append(wanted)
            case (
                DeltaFilter(input=child) | Negate(input=child) | Consolidate(input=child) | AsSet(input=child)
            ):
                self.visit(child, wanted)
            case DeltaProject(input=child, columns=columns):
                passed = {column.field.column: column.value for column in columns}
                self.visit(child, tuple(_renamed(wanted, passed)))
            case Pairs(left=left, right=right, condition=condition):
                self.visit(left, (*_limits_on(wanted, left), *self._by_partners(left, right, condition)))
                self.visit(right, (*_limits_on(wanted, right), *self._by_partners(right, left, condition)))
            case SemiJoin(left=left, right=right, condition=condition, negated=negated):
                limits_of_partners = () if negated else self._by_partners(left, right, condition)
                self.visit(left, (*wanted, *limits_of_partners))
                self.visit(right, tuple(self._by_partners(right, left, condition)))
            case KeySemiJoin(input=child, of=of, keys=keys):
                sources_of_keys = ((key.column, self.sources(of, key.column)) for key in keys)
                among = (
                    Limit(column, sources, nulls=True)
                    for column, sources in sources_of_keys
                    if sources is not None
                )
                self.visit(child, (*wanted, *among))
                self.visit(of, ())
            case Sum(inputs=summands, fields=columns):
                for child in summands:
                    pairs = zip(columns, fields(child), strict=True)
                    passed = {
                        field.column: Reference(input_field.column, input_field.type)
                        for field, input_field in pairs
                    }
                    self.visit(child, tuple(_renamed(wanted, passed)))
            case PartialAggregate(input=child) | Groups(input=child) | First(input=child):
                self.visit(child, tuple(limit for limit in wanted if _is_key(outcome, limit.column)))
            case Choose(shortcut=shortcut, general=general):
                self.visit(shortcut, wanted)
                self.visit(general, wanted)
            case _:
                for child in inputs(outcome):
                    self.visit(child, ())

    def _by_partners(self, side: Weighted, other: Weighted, condition: Scalar) -> Iterator[Limit]:
        """The limits on this side from its partners on the other side."""
        for number, partner in _equal(side, other, condition):
            sources = self.sources(other, partner)
            if sources is not None:
                yield Limit(number, sources, nulls=False)

    def sources(self, outcome: Weighted, column: int) -> Sources | None:
        """The sources of a column, if all of its values come from changes."""
        match outcome:
            case Read(buffer=buffer, moment=Moment.CHANGE):
                return frozenset({(buffer, column)})
            case StepRef(step=step):
                return self.sources(self.steps[step], column)
            case (
                DeltaFilter(input=child) | Negate(input=child) | Consolidate(input=child) | AsSet(input=child)
            ):
                return self.sources(child, column)
            case DeltaProject(input=child, columns=computed):
                value = next(
                    computed_column.value
                    for computed_column in computed
                    if computed_column.field.column == column
                )
                return self.sources(child, value.column) if isinstance(value, Reference) else None
            case Pairs(left=left, right=right, condition=condition):
                return self._sources_of_pair(left, right, condition, column)
            case SemiJoin(left=left, right=right, condition=condition, negated=negated):
                sources = self.sources(left, column)
                return (
                    sources if sources or negated else self._sources_of_pair(left, right, condition, column)
                )
            case KeySemiJoin(input=child, of=of):
                sources = self.sources(child, column)
                return self.sources(of, column) if sources is None and _is_key(outcome, column) else sources
            case Sum(inputs=summands, fields=columns):
                place = [field.column for field in columns].index(column)
                return _all(self.sources(summand, fields(summand)[place].column) for summand in summands)
            case PartialAggregate(input=child) | Groups(input=child) | First(input=child):
                return self.sources(child, column) if _is_key(outcome, column) else None
            case Choose(shortcut=shortcut, general=general):
                return _all(self.sources(node, column) for node in (shortcut, general))
            case _:
                return None

    def _sources_of_pair(
        self, left: Weighted, right: Weighted, condition: Scalar, column: int
    ) -> Sources | None:
        """The sources of the column in the side that has it, or of an equal column of the other side."""
        side, other = (left, right) if column in _columns(left) else (right, left)
        sources = self.sources(side, column)
        partners = (partner for equal, partner in _equal(side, other, condition) if equal == column)
        for partner in partners if sources is None else ():
            sources = self.sources(other, partner)
            if sources is not None:
                break
        return sources


def _all(sources: Iterator[Sources | None]) -> Sources | None:
    together: Sources = frozenset()
    for some in sources:
        if some is None:
            return None
        together |= some
    return together


def _is_key(outcome: PartialAggregate | Groups | KeySemiJoin | First, column: int) -> bool:
    """Whether rows are gathered by the column; not so for First, which depends on all rows."""
    return not isinstance(outcome, First) and any(key.column == column for key in outcome.keys)


def _limits_on(wanted: Limits, outcome: Weighted) -> Iterator[Limit]:
    return (limit for limit in wanted if limit.column in _columns(outcome))


def _renamed(wanted: Limits, passed: Mapping[int, Scalar]) -> Iterator[Limit]:
    """The limits on the columns below, where the limited columns are computed from single columns."""
    for limit in wanted:
        value = passed.get(limit.column)
        if isinstance(value, Reference):
            yield Limit(value.column, limit.sources, limit.nulls)


def _equal(side: Weighted, other: Weighted, condition: Scalar) -> Iterator[tuple[int, int]]:
    return equal_across(conjuncts(condition), _columns(side), _columns(other))


def _columns(outcome: Weighted) -> frozenset[int]:
    return frozenset(field.column for field in fields(outcome))
