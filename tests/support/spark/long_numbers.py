"""Pairs of numerics of any length, as they are stored, and what PostgreSQL's operators make of them."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Context, Decimal
from itertools import product
from typing import Final

import pyarrow as pa

from catalog.postgres.storage import FREE_NUMERIC, FREE_SCALE
from catalog.postgres.types import NUMERIC, SqlType
from dialect.expressions.rendered import Rendered
from dialect.expressions.scalar import LONG_ADD, LONG_MULTIPLY, LONG_SUBTRACT, Call, Notation, Reference
from sources.decode.arrow import arrow_type

SPECIAL: Final = ("NaN", "Infinity", "-Infinity")
TEXTS: Final = (
    *(None, *SPECIAL, "0", "0.00", "1", "-1", "1.50", "-2.25", "1000000000.000000001", "100000000000000"),
    *("999999999999999", "-999999999999999", "123456789012345678.123456789012", "-0.0000000000000000001"),
    *("9" * 40, f"-{'9' * 27}.50", f"-{'1' * 60}.{'2' * 40}", f"0.{'1234567890' * 3}", f"1.{'0' * 30}"),
)
PAIRS: Final = tuple(product(TEXTS, TEXTS))

_EXACT: Final = Context(prec=500, traps=[])
_OPERATIONS: Final = {
    "+": (LONG_ADD, _EXACT.add),
    "-": (LONG_SUBTRACT, _EXACT.subtract),
    "*": (LONG_MULTIPLY, _EXACT.multiply),
}
_NUMBER: Final = SqlType(NUMERIC)

COLUMNS: Final[Mapping[int, Rendered]] = {number: Rendered(f"c{number}", FREE_NUMERIC) for number in (1, 2)}


def stored(text: str | None) -> Mapping[str, object] | None:
    """A number as capture stores it."""
    if text is None:
        return None
    number = Decimal(text)
    before, _, behind = text.lstrip("-").partition(".")
    fits = number.is_finite() and len(before) <= 20 and len(behind.rstrip("0")) <= FREE_SCALE
    return {"value": _EXACT.quantize(number, Decimal(1).scaleb(-FREE_SCALE)) if fits else None, "text": text}


def pairs_as_table() -> pa.Table:
    """The pairs in two columns, behind their numbers."""
    type_ = arrow_type(FREE_NUMERIC)
    columns = [pa.array([stored(pair[place]) for pair in PAIRS], type_) for place in range(2)]
    return pa.table([pa.array(range(len(PAIRS)), pa.int32()), *columns], names=["pair", "c1", "c2"])


def operation(operator: str) -> Call:
    """The operator over both columns, in a plan for numbers of any length."""
    function, _ = _OPERATIONS[operator]
    arguments = (Reference(1, _NUMBER), Reference(2, _NUMBER))
    return Call(function, operator, Notation.OPERATOR, arguments, 0, _NUMBER)


def results(operator: str) -> list[Mapping[str, object] | None]:
    """What PostgreSQL gives for each pair, as it would be stored; what has no number is NaN."""
    _, compute = _OPERATIONS[operator]
    outcomes: list[Mapping[str, object] | None] = []
    for left, right in PAIRS:
        if left is None or right is None:
            outcomes.append(None)
            continue
        number = compute(Decimal(left), Decimal(right))
        outcomes.append(stored(f"{number if number else number.copy_abs():f}"))
    return outcomes
