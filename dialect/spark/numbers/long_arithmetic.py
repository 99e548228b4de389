"""Addition, subtraction and multiplication of numerics of any length, NaN and the infinities too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from catalog.postgres.storage import FREE_NUMERIC, Decimal
from dialect.expressions.constant_text import SPECIAL_TEXTS
from dialect.expressions.scalar import Call
from dialect.spark.numbers.long_sum import number_of_text, product_of_texts, sum_of_texts
from dialect.spark.numbers.shadows import shadow_of
from dialect.spark.numbers.written import converted, fields_of, scale_of_text, shown, written
from dialect.spark.rendered import Builder, Rendered, cast, named, spark_type

_STORAGE: Final = FREE_NUMERIC
_LEFT: Final = Rendered("operands.left", _STORAGE)
_RIGHT: Final = Rendered("operands.right", _STORAGE)
_ADDEND: Final = Decimal(37, 18)
_FACTOR: Final = Decimal(18, 9)
_SHORT_SQL: Final = 60


def _long(symbol: str, short: str, decimal: Decimal, scale: str, text: Callable[[str, str], str]) -> Builder:
    """The function of an operator: by decimals where `short` holds of both operands, else by their texts."""

    def build(_: Call, arguments: Sequence[Rendered]) -> Rendered:
        left, right = map(_operand, arguments)
        outcome = _by_length(symbol, short, decimal, scale, text)
        return Rendered(
            named("operands", f"named_struct('left', {left}, 'right', {right})", outcome), _STORAGE
        )

    return build


def _by_length(symbol: str, short: str, decimal: Decimal, scale: str, text: Callable[[str, str], str]) -> str:
    operands = [fields_of(operand.sql) for operand in (_LEFT, _RIGHT)]
    (left, left_text), (right, right_text) = operands
    assert isinstance(_STORAGE.value, Decimal)
    both = f"{cast(left, decimal).sql} {symbol} {cast(right, decimal).sql}"
    total_scale = scale.format(left=scale_of_text(left_text), right=scale_of_text(right_text))
    near = written(cast(f"({both})", _STORAGE.value), total_scale).sql
    far = shown(number_of_text(text(left_text, right_text), _STORAGE), total_scale).sql
    is_short = " AND ".join(short.format(value=value, text=shown_as) for value, shown_as in operands)
    type_ = spark_type(_STORAGE)
    return (
        f"CASE WHEN {left_text} IS NULL OR {right_text} IS NULL THEN NULL "
        f"WHEN coalesce({is_short}, false) THEN {near} "
        f"WHEN {left_text} IN {SPECIAL_TEXTS} OR {right_text} IN {SPECIAL_TEXTS} THEN "
        f"CAST(named_struct('value', NULL, 'text', {_special(symbol)}) AS {type_}) "
        f"ELSE CAST({far} AS {type_}) END"
    )


def _operand(value: Rendered) -> str:
    """An operand as every number of any length is stored; one that takes much to compute is computed once."""
    if value.storage == _STORAGE or len(value.sql) <= _SHORT_SQL:
        return converted(value, _STORAGE).sql
    return named("number", value.sql, converted(Rendered("number", value.storage), _STORAGE).sql)


def _special(symbol: str) -> str:
    """Double precision has the same rules for NaN and the infinities."""
    value = f"({shadow_of(_LEFT)} {symbol} {shadow_of(_RIGHT)})"
    return f"CASE WHEN isnan({value}) THEN 'NaN' WHEN {value} > 0 THEN 'Infinity' ELSE '-Infinity' END"


def _negated(text: str) -> str:
    return f"CASE WHEN {text} LIKE '-%' THEN substring({text}, 2) ELSE concat('-', {text}) END"


_SHORT_ADDEND: Final = "abs({value}) < 1000000000000000000BD"
_SHORT_FACTOR: Final = f"abs({{value}}) < 1000000000BD AND {scale_of_text('{text}')} <= 9"
_LONGER: Final = "greatest({left}, {right})"

long_sum_of_two: Final = _long(
    "+", _SHORT_ADDEND, _ADDEND, _LONGER, lambda left, right: sum_of_texts(f"array({left}, {right})")
)
long_difference: Final = _long(
    "-",
    _SHORT_ADDEND,
    _ADDEND,
    _LONGER,
    lambda left, right: sum_of_texts(f"array({left}, {_negated(right)})"),
)
long_product: Final = _long("*", _SHORT_FACTOR, _FACTOR, "({left} + {right})", product_of_texts)
