"""What functions of numerics give for NaN and the infinities, and for numbers beside them.

They are for what may be special: of other numerics the functions of numbers are enough, and faster.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from catalog.postgres.storage import Decimal, Written
from dialect.expressions.constant_text import SPECIAL_TEXTS
from dialect.expressions.storages import decimal
from dialect.spark.numbers.written import fields_of, is_written_number, number_of, text_of, written
from dialect.spark.rendered import Rendered, cast, failing, named, spark_type

Finite: TypeAlias = Callable[..., Rendered]
"""The function of numbers: its result, by its operands."""

_NAN: Final = "'NaN'"
_SHORT_SQL: Final = 60
_INFINITIES: Final = "('Infinity', '-Infinity')"


def passed_on(finite: Finite, operand: Rendered) -> Rendered:
    """NaN and the infinities stay what they are, as when they are rounded."""
    return _of_one(finite, operand, lambda text: f"CASE WHEN {text} IN {SPECIAL_TEXTS} THEN {text} END")


def sign(finite: Finite, operand: Rendered) -> Rendered:
    """The infinities have a sign, and NaN is its own."""

    def signed(value: Rendered) -> Rendered:
        text, number = text_of(value), finite(number_of(value).value)
        one = f"CASE {text} WHEN 'Infinity' THEN 1 WHEN '-Infinity' THEN -1 ELSE {number.sql} END"
        nan = f"CASE WHEN {text} = {_NAN} THEN {_NAN} END"
        return _with_special(nan, _as_written(cast(one, number.storage)), f"{text} IS NOT NULL")

    return _once(operand, signed)


def limited(finite: Finite, operand: Rendered) -> Rendered:
    """A modifier leaves room for NaN and for no infinity."""

    def special(text: str) -> str:
        nan = f"CASE WHEN {text} = {_NAN} THEN {_NAN} END"
        return failing(f"{text} IN {_INFINITIES}", "22003", "numeric field overflow", nan)

    return _of_one(finite, operand, special)


def refused_conversion(finite: Finite, operand: Rendered, type_name: str) -> Rendered:
    """Of NaN and the infinities PostgreSQL makes no integer."""

    def converted(value: Rendered) -> Rendered:
        text, result = text_of(value), finite(number_of(value).value)
        number = f"CASE WHEN {text} IS NOT NULL THEN {result.sql} END"
        infinite = f"{text} IN {_INFINITIES}"
        checked = failing(infinite, "0A000", f"cannot convert infinity to {type_name}", number)
        nan = f"{text} = {_NAN}"
        return Rendered(failing(nan, "0A000", f"cannot convert NaN to {type_name}", checked), result.storage)

    return _once(operand, converted)


def remainder(finite: Finite, left: Rendered, right: Rendered) -> Rendered:
    """A number is less than any infinity, and so its own remainder."""

    def beside_infinity(dividend: Rendered, result: Decimal) -> Rendered:
        number = number_of(dividend)
        return written(cast(number.value.sql, result), number.scale)

    return _of_two(finite, left, right, beside_infinity, lambda _dividend, _divisor: _NAN)


def whole_quotient(finite: Finite, left: Rendered, right: Rendered) -> Rendered:
    """A number has no whole quotient but zero by an infinity."""

    def beside_infinity(_: Rendered, result: Decimal) -> Rendered:
        return written(cast("0", result), "0")

    def of_infinity(dividend: str, divisor: str) -> str:
        same = f"({dividend} LIKE '-%') = ({divisor} LIKE '-%')"
        infinite = f"CASE WHEN {same} THEN 'Infinity' ELSE '-Infinity' END"
        return f"CASE WHEN {divisor} IN {_INFINITIES} THEN {_NAN} ELSE {infinite} END"

    return _of_two(finite, left, right, beside_infinity, of_infinity)


def _of_one(finite: Finite, operand: Rendered, special: Callable[[str], str]) -> Rendered:
    """`special`: the text of the result where that is NaN or infinite, else NULL, by the operand's."""

    def of_value(value: Rendered) -> Rendered:
        text, result = text_of(value), _as_written(finite(number_of(value).value))
        return _with_special(special(text), result, f"{text} IS NOT NULL")

    return _once(operand, of_value)


def _of_two(
    finite: Finite,
    left: Rendered,
    right: Rendered,
    beside_infinity: Callable[[Rendered, Decimal], Rendered],
    of_infinity: Callable[[str, str], str],
) -> Rendered:
    """NaN where one of two operands is; an error where an infinity is divided by zero."""
    is_short = len(left.sql) + len(right.sql) <= 2 * _SHORT_SQL
    dividend = Rendered(left.sql if is_short else "operands.left", left.storage)
    divisor = Rendered(right.sql if is_short else "operands.right", right.storage)
    texts = text_of(dividend), text_of(divisor)
    result = _as_written(finite(dividend, divisor))
    assert isinstance(result.storage, Written) and isinstance(result.storage.value, Decimal)
    whole = number_of(dividend).value.storage
    assert isinstance(whole, Decimal)
    integral = max(storage.precision - storage.scale for storage in (whole, result.storage.value))
    room = decimal(integral, result.storage.value.scale)
    storage = Written(room)
    near = Rendered(f"CAST({result.sql} AS {spark_type(storage)})", storage)
    kept = f"CAST({beside_infinity(dividend, room).sql} AS {spark_type(storage)})"
    either = Rendered(f"CASE WHEN {texts[1]} IN {_INFINITIES} THEN {kept} ELSE {near.sql} END", storage)
    zero = f"coalesce({fields_of(divisor.sql)[0] if is_written_number(divisor) else divisor.sql} = 0, false)"
    checked = failing(zero, "22012", "division by zero", of_infinity(*texts))
    special = (
        f"CASE WHEN {texts[0]} IS NULL OR {texts[1]} IS NULL THEN NULL "
        f"WHEN {texts[0]} = {_NAN} OR {texts[1]} = {_NAN} THEN {_NAN} "
        f"WHEN {texts[0]} IN {_INFINITIES} THEN {checked} END"
    )
    known = f"{texts[0]} IS NOT NULL AND {texts[1]} IS NOT NULL"
    result = _with_special(special, either, known)
    if is_short:
        return result
    both = f"named_struct('left', {left.sql}, 'right', {right.sql})"
    return Rendered(named("operands", both, result.sql), result.storage)


def _with_special(special: str, result: Rendered, known: str) -> Rendered:
    """What is special by its text, or the result for numbers, where all operands are known."""
    alone = f"CAST(named_struct('value', NULL, 'text', special) AS {spark_type(result.storage)})"
    either = f"CASE WHEN special IS NOT NULL THEN {alone} WHEN {known} THEN {result.sql} END"
    return Rendered(named("special", special, either), result.storage)


def _once(operand: Rendered, build: Callable[[Rendered], Rendered]) -> Rendered:
    """What is built of an operand, which has a name if it is long."""
    if len(operand.sql) <= _SHORT_SQL:
        return build(Rendered(operand.sql, operand.storage))
    built = build(Rendered("operand", operand.storage))
    return Rendered(named("operand", operand.sql, built.sql), built.storage)


def _as_written(result: Rendered) -> Rendered:
    if is_written_number(result):
        return result
    assert isinstance(result.storage, Decimal)
    return written(result, str(result.storage.scale))
