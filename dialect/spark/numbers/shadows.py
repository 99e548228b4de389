"""Numerics that may be NaN or infinite, in double precision: it has the same rules for what is not finite."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from catalog.postgres import functions
from catalog.postgres.storage import Decimal, Plain, Written
from dialect.expressions.constant_text import SPECIAL_TEXTS
from dialect.spark.numbers.floats import INFINITY
from dialect.spark.numbers.written import fields_of, is_whole, number_of
from dialect.spark.rendered import Number, Rendered, cast, named, spark_type

_LONG: Final = "1e60D"
"""Stands for a number that no decimal holds; computing with it is an error anyway."""

_SHORT_SQL: Final = 60

SHADOWS: Final[Mapping[int, Callable[..., str]]] = {
    functions.NUMERIC_ADD: lambda left, right: f"({left} + {right})",
    functions.NUMERIC_SUB: lambda left, right: f"({left} - {right})",
    functions.NUMERIC_MUL: lambda left, right: f"({left} * {right})",
}
"""The functions of two numerics that have a result for NaN and infinities, in double precision."""


def is_computed(rendered: Rendered) -> bool:
    """Whether this is computed of what may be NaN or infinite."""
    return rendered.number is not None and rendered.number.shadow is not None


def shadow_of(rendered: Rendered) -> str:
    """The value in double precision: infinite or NaN just where it is so."""
    if rendered.number is not None and rendered.number.shadow is not None:
        return rendered.number.shadow
    if is_whole(rendered):
        return cast(number_of(rendered).value.sql, Plain.FLOAT64).sql
    if len(rendered.sql) > _SHORT_SQL:
        return named("operand", rendered.sql, _of_struct("operand"))
    return _of_struct(rendered.sql)


def is_near(shadow: str) -> str:
    """Whether the value is a number; NULL of NULL."""
    return f"abs({shadow}) < {INFINITY}"


def with_specials(finite: Rendered, shadow: str) -> Rendered:
    """What is computed of numbers, and where one of them is none what comes of that."""
    storage = finite.storage
    assert isinstance(storage, Written) and isinstance(storage.value, Decimal)
    text = f"CASE WHEN isnan({shadow}) THEN 'NaN' WHEN {shadow} > 0 THEN 'Infinity' ELSE '-Infinity' END"
    special = f"CAST(named_struct('value', NULL, 'text', {text}) AS {spark_type(storage)})"
    number = number_of(finite)
    return Rendered(
        f"CASE WHEN {is_near(shadow)} THEN {finite.sql} WHEN {shadow} IS NOT NULL THEN {special} END",
        storage,
        Number(number.value, number.scale, False, shadow),
    )


def _of_struct(sql: str) -> str:
    value, text = fields_of(sql)
    long = f"CASE WHEN {text} LIKE '-%' THEN -{_LONG} ELSE {_LONG} END"
    return (
        f"CASE WHEN {value} IS NOT NULL THEN {cast(value, Plain.FLOAT64).sql} "
        f"WHEN {text} IN {SPECIAL_TEXTS} THEN {cast(text, Plain.FLOAT64).sql} "
        f"WHEN {text} IS NOT NULL THEN {long} END"
    )
