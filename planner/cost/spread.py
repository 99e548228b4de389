"""How the values of a column are spread over the rows of a node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from math import prod
from types import MappingProxyType
from typing import Final, TypeAlias

from dialect.expressions.scalar import Reference, Scalar
from planner.algebra.columns import references
from planner.algebra.conditions import conjuncts
from planner.algebra.statistics import ColumnStatistics
from planner.facts.cardinality import join_share, most_values
from planner.facts.selectivity import selectivity


class Moves(IntEnum):
    """How often a column changes when its row is replaced."""

    NEVER = 0
    OFTEN = 1  # in half of the replacements: columns of tables
    EXTREMES = 2  # where another row is the least, the greatest, or among the first
    ALWAYS = 3


@dataclass(frozen=True, slots=True)
class Spread:
    """The values of a column, at most `most`. They are from the buffer `source`, of which `rows` rows are
    left.

    A column that `grows` gets new values as its source gets rows: half of all rows have half of the values.
    In a change it is `fresh` if new rows have new values.
    """

    values: ColumnStatistics
    moves: Moves
    most: float
    source: int
    rows: float
    grows: bool = False
    fresh: bool = False


Spreads: TypeAlias = Mapping[int, Spread]

NOWHERE: Final = -1
"""Stands for the source of values that are computed."""


def statistics_of(columns: Spreads) -> Mapping[int, ColumnStatistics]:
    """The statistics of columns, which the estimates of conditions ask for."""
    return {number: spread.values for number, spread in columns.items()}


def share_of(condition: Scalar, columns: Spreads) -> float:
    """The share of rows for which the condition is true."""
    return min(1.0, max(0.0, selectivity(condition, statistics_of(columns))))


def share_of_pairs(condition: Scalar, left: Spreads, right: Spreads) -> float:
    """The share of pairs for which the condition is true."""
    known = {**statistics_of(left), **statistics_of(right)}
    return min(1.0, prod(join_share(conjunct, known) for conjunct in conjuncts(condition)))


def moves_of(value: Scalar, columns: Spreads) -> Moves:
    """How often the expression changes where rows are replaced."""
    return max(
        (columns[column].moves for column in references(value) if column in columns), default=Moves.NEVER
    )


def filtered(columns: Spreads, condition: Scalar, share: float) -> Spreads:
    """The spreads after a condition that this share of rows meets; a column read alone loses values too."""
    alone: dict[int, float] = {}
    for conjunct in conjuncts(condition):
        read = references(conjunct)
        if len(read) == 1:
            [number] = read
            alone[number] = alone.get(number, 1.0) * share_of(conjunct, columns)
    return {
        number: replace(
            spread,
            most=max(1.0, spread.most * alone.get(number, 1.0)),
            rows=max(1.0, spread.rows * share),
        )
        for number, spread in columns.items()
    }


def computed(value: Scalar, columns: Spreads, rows: float) -> Spread:
    """An expression has no more values than the columns that it reads have combinations."""
    if isinstance(value, Reference) and value.column in columns:
        return columns[value.column]
    read = [columns[column] for column in sorted(references(value)) if column in columns]
    most = max(1.0, min(rows, most_values(value), prod(spread.most for spread in read)))
    source = read[0] if len(read) == 1 else None
    return Spread(
        ColumnStatistics(most),
        moves_of(value, columns),
        most,
        source.source if source else NOWHERE,
        source.rows if source else max(1.0, rows),
    )


def looked_up(columns: Spreads, fresh: bool) -> Spreads:
    """The spreads of rows that are looked up: growing columns are as fresh as the values looked up by."""
    return {
        number: replace(spread, fresh=fresh) if spread.grows and spread.fresh is not fresh else spread
        for number, spread in columns.items()
    }


def limited(columns: Spreads, rows: float) -> Spreads:
    """The spreads limited by the number of rows."""
    return {
        number: replace(spread, most=max(1.0, min(spread.most, rows))) for number, spread in columns.items()
    }


def joined(condition: Scalar, change: Spreads, other: Spreads) -> Spreads:
    """The spreads of pairs: equated columns have the fewer values; rows looked up by new values are new."""
    new = both_grow(condition, change, other)
    fresh = new is not None and change[new[0]].fresh
    both = {**change, **looked_up(other, fresh)}
    for conjunct in conjuncts(condition):
        pair = _equal(conjunct, both)
        if pair:
            fewest = min(both[number].most for number in pair)
            both |= {number: replace(both[number], most=fewest) for number in pair}
    return both


def growing(keys: Iterable[int], columns: Spreads) -> tuple[int, ...]:
    """The buffers with whose rows the number of groups by these columns grows."""
    return tuple(sorted({columns[key].source for key in keys if columns[key].grows}))


def growing_pairs(condition: Scalar, left: Spreads, right: Spreads) -> tuple[int, ...]:
    """For each equality the buffer whose rows bring new values of the columns that are equated."""
    both, sources = {**left, **right}, list[int]()
    for conjunct in conjuncts(condition):
        pair = _equal(conjunct, both)
        if pair:
            spreads = (both[number] for number in sorted(pair))
            widest = max(spreads, key=lambda spread: (spread.values.distinct, not spread.grows))
            sources += [widest.source] if widest.grows else []
    return tuple(sources)


def both_grow(condition: Scalar, left: Spreads, right: Spreads) -> tuple[int, int] | None:
    """The equated columns of both sides that get new values as rows come; both get them at the same time."""
    both = {**left, **right}
    for conjunct in conjuncts(condition):
        pair = _equal(conjunct, both)
        left_columns, right_columns = pair & left.keys(), pair & right.keys()
        if len(left_columns) == len(right_columns) == 1 and all(both[number].grows for number in pair):
            return min(left_columns), min(right_columns)
    return None


def combinations(keys: Iterable[int], columns: Spreads, rows: float) -> float:
    """How many groups there can be by these columns; columns of one buffer give no more than its rows."""
    sources: dict[int, tuple[float, float]] = {}
    for key in dict.fromkeys(keys):
        spread = columns[key]
        many, most = sources.get(spread.source, (1.0, 1.0))
        sources[spread.source] = (many * spread.most, max(most, spread.rows))
    return max(1.0, min(rows, prod(min(many, most) for many, most in sources.values())))


def _equal(condition: Scalar, columns: Spreads) -> frozenset[int]:
    read = references(condition)
    is_join = len(read) == 2 and read <= columns.keys() and getattr(condition, "name", "") == "="
    return read if is_join else frozenset()


NO_COLUMNS: Final[Spreads] = MappingProxyType({})
