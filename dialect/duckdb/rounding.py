"""Numerics with fewer digits: rounded, cut off, or to the next whole number; and their signs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from catalog.postgres import functions
from catalog.postgres.storage import Decimal
from dialect.duckdb.rendered import Builder, NotWritten, Rendered, cast, duckdb_type, once
from dialect.expressions.scalar import Call, Constant
from dialect.expressions.storages import decimal


def _nearest(value: Rendered, digits: int) -> Rendered:
    """DuckDB's cast between decimals takes halves away from zero, as PostgreSQL rounds."""
    storage = value.storage
    if not isinstance(storage, Decimal) or not 0 <= digits <= storage.scale:
        raise NotWritten("a numeric rounded otherwise than to fewer digits")
    return cast(value.sql, decimal(storage.precision - storage.scale + 1, digits))


def _rounded(call: Call, arguments: Sequence[Rendered]) -> Rendered:
    return _nearest(arguments[0], _digits(call))


def _digits(call: Call) -> int:
    """How many digits a call leaves behind the point."""
    match call.arguments[1:]:
        case ():
            return 0
        case (Constant(text=str(text)),):
            return int(text)
    raise NotWritten("a numeric rounded to digits that are no constant")


def _cut(call: Call, arguments: Sequence[Rendered]) -> Rendered:
    """Towards zero."""
    return _moved(
        arguments[0],
        _digits(call),
        "CASE WHEN {value} > 0 AND {near} > {value} THEN {near} - {step} "
        "WHEN {value} < 0 AND {near} < {value} THEN {near} + {step} ELSE {near} END",
    )


def _floor(_: Call, arguments: Sequence[Rendered]) -> Rendered:
    return _moved(arguments[0], 0, "CASE WHEN {near} > {value} THEN {near} - {step} ELSE {near} END")


def _ceiling(_: Call, arguments: Sequence[Rendered]) -> Rendered:
    return _moved(arguments[0], 0, "CASE WHEN {near} < {value} THEN {near} + {step} ELSE {near} END")


def _moved(value: Rendered, digits: int, template: str) -> Rendered:
    """The nearest number of so many digits behind the point, or the one beside it."""
    near = _nearest(value, digits)
    assert isinstance(near.storage, Decimal)
    step = f"CAST('1e-{digits}' AS {duckdb_type(near.storage)})"

    def moved(one: str) -> str:
        nearest = cast(one, near.storage).sql
        return template.format(value=one, near=nearest, step=step)

    return cast(once(value.sql, moved), near.storage)


def _sign(_: Call, arguments: Sequence[Rendered]) -> Rendered:
    if not isinstance(arguments[0].storage, Decimal):
        raise NotWritten("the sign of another value than a numeric")
    return cast(f"sign({arguments[0].sql})", Decimal(1, 0))


ROUNDING: Final[Mapping[int, Builder]] = {
    **dict.fromkeys((functions.ROUND_NUMERIC_INT4, functions.ROUND_NUMERIC), _rounded),
    **dict.fromkeys((1709, 1710), _cut),
    **dict.fromkeys((1711, 2167), _ceiling),
    1712: _floor,
    1706: _sign,
}
