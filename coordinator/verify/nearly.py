"""Rows that differ in the last digits of sums of floats alone, which any order of adding gives others of."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

TOLERANCE: Final = {"double precision": 1e-9, "real": 1e-5}
"""How far two such sums may be apart, by the size of the larger one."""

Sums: TypeAlias = tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Unlike:
    """Rows that one side has more of: their text, the text of all but the sums, and the sums."""

    side: str
    text: str
    rows: int
    rest: str
    sums: Sums


def without_near(unlike: Iterable[Unlike], tolerances: tuple[float, ...]) -> list[Unlike]:
    """The rows without a partner on the other side that is nearly the same; each row is a partner once."""
    together: defaultdict[str, list[Unlike]] = defaultdict(list)
    for row in unlike:
        together[row.rest].append(row)
    return [row for rows in together.values() for row in _unpaired(rows, tolerances)]


def _unpaired(rows: list[Unlike], tolerances: tuple[float, ...]) -> list[Unlike]:
    left: dict[str, list[Unlike]] = {"missing": [], "superfluous": []}
    for unpaired in sorted(rows, key=lambda row: tuple(map(_order, row.sums))):
        row = unpaired
        others = left["superfluous" if row.side == "missing" else "missing"]
        for place, other in enumerate(others):
            if row.rows and _near(row.sums, other.sums, tolerances):
                paired = min(row.rows, other.rows)
                others[place] = replace(other, rows=other.rows - paired)
                row = replace(row, rows=row.rows - paired)
        others[:] = [other for other in others if other.rows]
        if row.rows:
            left[row.side].append(row)
    return [row for side in left.values() for row in side]


def _order(value: float | None) -> tuple[int, float]:
    if value is None or math.isnan(value):
        return (2 if value is None else 1, 0.0)
    return (0, value)


def _near(one: Sums, other: Sums, tolerances: tuple[float, ...]) -> bool:
    pairs = zip(one, other, tolerances, strict=True)
    return all(_close(first, second, tolerance) for first, second, tolerance in pairs)


def _close(one: float | None, other: float | None, tolerance: float) -> bool:
    if one is None or other is None:
        return one is other
    both_nan = math.isnan(one) and math.isnan(other)
    return both_nan or math.isclose(one, other, rel_tol=tolerance)
