"""Division of numerics, which DuckDB has only of floats: in Python, to PostgreSQL's digits."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal as Number
from typing import Final

from catalog.postgres.storage import MAX_DIGITS, Decimal, Written
from dialect.duckdb import rendered
from dialect.duckdb.numbers import decimal_text, number_of, scale_of_text, written
from dialect.duckdb.rendered import Rendered, cast, duckdb_type, named, unless
from dialect.expressions.quotient import divide
from dialect.expressions.scalar import Call

QUOTIENT_FUNCTION: Final = "gavial_quotient"
"""The name under which `quotient_text` is known in a database."""

_ROOM: Final = Decimal(MAX_DIGITS, 24)


def quotient_text(dividend: str, divisor: str) -> str:
    """The quotient of two numbers as PostgreSQL writes it."""
    return f"{divide(Number(dividend), Number(divisor)):f}"


def quotient(_: Call, arguments: Sequence[Rendered]) -> Rendered:
    """The quotient of two numerics; one that has no room in a decimal is Spark's to compute."""
    return divided(*arguments)


def divided(left: Rendered, right: Rendered) -> Rendered:
    """The same, of values and not of a call."""
    numbers = [number_of(operand) for operand in (left, right)]
    dividend, divisor = (_text(number) for number in numbers)
    storage = Written(_ROOM)
    whole = _ROOM.precision - _ROOM.scale

    def struct(text: str) -> str:
        too_long = f"length({text}) - instr({text}, '.') > {_ROOM.scale} OR instr({text}, '.') > {whole}"
        value = unless(too_long, cast(text, _ROOM).sql)
        known = f"struct_pack(value := {value}, text := {text})"
        return f"CAST(CASE WHEN {text} IS NOT NULL THEN {known} END AS {duckdb_type(storage)})"

    sql = named("quotient", f"{QUOTIENT_FUNCTION}({dividend}, {divisor})", struct("quotient"))
    scale = named("quotient", f"({sql}).text", scale_of_text("quotient"))
    return Rendered(sql, storage, rendered.Number(Rendered(f"({sql}).value", _ROOM), scale))


def _text(number: rendered.Number) -> str:
    """A number with as many digits as it shows."""
    assert isinstance(number.value.storage, Decimal)
    if number.scale == str(number.value.storage.scale):
        return decimal_text(cast(number.value.sql, number.value.storage).sql, number.value.storage)
    return f"({written(number.value, number.scale).sql}).text"
