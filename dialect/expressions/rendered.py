"""Pieces of an engine's SQL that know how their value is stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from catalog.postgres.storage import Storage
from dialect.expressions.scalar import Call


@dataclass(frozen=True, slots=True)
class Rendered:
    """SQL of a value, closed in itself, and how the value is stored.

    Of a numeric that is stored as Written and computed here, `number` is what its struct is made of.
    """

    sql: str
    storage: Storage
    number: Number | None = None


@dataclass(frozen=True, slots=True)
class Number:
    """A numeric as a decimal, and the digits that it shows behind the point as SQL of a 32-bit integer.

    `whole`: it is the value in every row; else computing it is an error where the value has no decimal.
    Where it is computed and may be NaN or infinite, `shadow` is so too: the same in double precision.
    """

    value: Rendered
    scale: str
    whole: bool = True
    shadow: str | None = None


Builder: TypeAlias = Callable[[Call, Sequence[Rendered]], Rendered]
"""Writes a call of one function on arguments that are written already."""
