"""Intervals that keep some of their parts, as SQL of Spark."""

from __future__ import annotations

from catalog.postgres.types import SqlType
from dialect.expressions.interval_fields import KeptParts, kept_parts
from dialect.spark.moments import infinity_of, once
from dialect.spark.rendered import Rendered, interval


def limited_interval(type_: SqlType, value: Rendered) -> Rendered:
    """The interval without what is smaller than the last field of its type."""
    kept = kept_parts(type_)
    if kept is None:
        return value
    return Rendered(once(value, lambda one: _unless_infinite(one, _cut(kept, one))), value.storage)


def _unless_infinite(value: Rendered, cut: str) -> str:
    return f"CASE WHEN {infinity_of(value)} <> 0 THEN {value.sql} ELSE {cut} END"


def _cut(kept: KeptParts, value: Rendered) -> str:
    months, days, time = (f"{value.sql}.{part}" for part in ("months", "days", "microseconds"))
    whole = months if kept.months == 1 else f"CAST({months} DIV {kept.months} * {kept.months} AS INT)"
    rest = f"{time} DIV {kept.microseconds}L * {kept.microseconds}L" if kept.microseconds else "0L"
    return interval(f"{value.sql} IS NOT NULL", whole, days if kept.days else "0", rest).sql
