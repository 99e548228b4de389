"""Where PostgreSQL is free in what a query gives, and the comparison that allows exactly that.

Equal values may be written differently: 1.0 and 1.00, 0 and -0, '1 mon' and '30 days'. PostgreSQL shows any
of them where one stands for all: as a key of a group, in DISTINCT, UNION, INTERSECT and EXCEPT, and as min
or max. Such columns are free: both results must be equal by value, and what is shown must be written as one
of the witnesses, the values that PostgreSQL may choose from. All other columns are equal as texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

Texts: TypeAlias = tuple[str | None, ...]


def unlike(
    expected: Sequence[Texts], found: Sequence[Texts], witnesses: Mapping[int, frozenset[str | None]] = {}
) -> tuple[list[Texts], list[Texts]]:
    """The rows that are missing and those that are superfluous, with `*` in the place of free columns."""
    wanted = Counter(_masked(row, witnesses.keys()) for row in expected)
    there = Counter(_masked(row, witnesses.keys()) for row in found)
    return [*(wanted - there).elements()], [*(there - wanted).elements()]


def contrasts(
    missing: Sequence[Texts], superfluous: Sequence[Texts]
) -> dict[int, tuple[Texts, Texts]] | None:
    """Which columns differ, each with a pair of rows, where rows can be paired by their first column."""
    pairs = {row[0]: row for row in superfluous}
    if len(pairs) != len(superfluous) or sorted(map(repr, pairs)) != sorted(repr(row[0]) for row in missing):
        return None
    return {
        column: (row, pairs[row[0]])
        for row in missing
        for column, text in enumerate(row)
        if pairs[row[0]][column] != text
    }


def unwitnessed(
    expected: Sequence[Texts], found: Sequence[Texts], witnesses: Mapping[int, frozenset[str | None]]
) -> list[tuple[int, str | None]]:
    """Values of free columns that PostgreSQL could not have shown: column and text."""
    strange = []
    for column, texts in witnesses.items():
        allowed = texts | {row[column] for row in expected} | {None}
        strange += [(column, row[column]) for row in found if row[column] not in allowed]
    return strange


def _masked(row: Texts, free: Collection[int]) -> Texts:
    return tuple("*" if place in free else text for place, text in enumerate(row))
