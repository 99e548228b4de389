"""INTERVAL YEAR, INTERVAL DAY TO MINUTE and the like: the parts of an interval that its type keeps."""

from __future__ import annotations

from typing import Final

from catalog.postgres.types import SqlType
from dialect.expressions.storages import unsupported
from dialect.spark.moments import infinity_of, once
from dialect.spark.rendered import Rendered, interval

_MONTH, _YEAR, _DAY, _HOUR, _MINUTE, _SECOND = (1 << bit for bit in (1, 2, 3, 10, 11, 12))
_ALL: Final = 0x7FFF
_WHOLE_PRECISION: Final = 0xFFFF
_DATES: Final = _YEAR | _MONTH
_UNITS: Final = {_HOUR: 3_600_000_000, _MINUTE: 60_000_000, _SECOND: 1}


def limited_interval(type_: SqlType, value: Rendered) -> Rendered:
    """The interval without what is smaller than the last field of its type."""
    fields, precision = type_.typmod >> 16 & _ALL, type_.typmod & 0xFFFF
    if precision != _WHOLE_PRECISION:
        raise unsupported("an interval with a number of digits behind its seconds")
    if fields == _ALL:
        return value
    return Rendered(once(value, lambda one: _unless_infinite(one, _cut(fields, one))), value.storage)


def _unless_infinite(value: Rendered, cut: str) -> str:
    return f"CASE WHEN {infinity_of(value)} <> 0 THEN {value.sql} ELSE {cut} END"


def _cut(fields: int, value: Rendered) -> str:
    months, days, time = (f"{value.sql}.{part}" for part in ("months", "days", "microseconds"))
    if not fields & ~_DATES:
        whole_years = f"CAST({months} DIV 12 * 12 AS INT)"
        kept = whole_years if fields == _YEAR else months
        return interval(f"{value.sql} IS NOT NULL", kept, "0", "0L").sql
    smallest = next((unit for field, unit in reversed(_UNITS.items()) if fields & field), None)
    rest = "0L" if smallest is None else f"{time} DIV {smallest}L * {smallest}L"
    return interval(f"{value.sql} IS NOT NULL", months, days, rest).sql
