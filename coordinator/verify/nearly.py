"""Rows that differ in the last digits of sums of floats alone, which any order of adding gives others of."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

Sums: TypeAlias = tuple[str | None, ...]
"""The texts of columns that come of sums of floats: a number, or a text or an array with numbers in it."""

_NUMBER: Final = re.compile(r"([-+]?[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?)")


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


def _order(text: str | None) -> tuple[int, tuple[tuple[str, float], ...]]:
    if text is None:
        return (1, ())
    words, numbers = _parts(text)
    return (0, tuple(zip(words, (*numbers, 0.0), strict=True)))


def _near(one: Sums, other: Sums, tolerances: tuple[float, ...]) -> bool:
    pairs = zip(one, other, tolerances, strict=True)
    return all(_close(first, second, tolerance) for first, second, tolerance in pairs)


def _close(one: str | None, other: str | None, tolerance: float) -> bool:
    """Whether two texts differ in nothing but their numbers, and these by no more than the tolerance."""
    if one is None or other is None or one == other:
        return one == other
    (words, numbers), (other_words, other_numbers) = _parts(one), _parts(other)
    return words == other_words and all(
        math.isclose(number, other_number, rel_tol=tolerance)
        for number, other_number in zip(numbers, other_numbers, strict=True)
    )


def _parts(text: str) -> tuple[list[str], list[float]]:
    """What is around the numbers of a text, and the numbers; NaN and Infinity are words."""
    parts = _NUMBER.split(text)
    return parts[::2], [float(number) for number in parts[1::2]]
