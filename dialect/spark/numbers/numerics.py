"""Arithmetic of numeric: no digit is ever lost, what has no room is an error."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from catalog.postgres import functions
from catalog.postgres.storage import FREE_SCALE, MAX_DIGITS, Decimal, Plain, Written
from dialect.expressions.constant_text import SPECIAL_TEXTS
from dialect.expressions.scalar import (
    BEYOND,
    LONG_ADD,
    LONG_ARITHMETIC,
    LONG_MULTIPLY,
    LONG_SUBTRACT,
    LONG_SUM,
    OWN_FUNCTIONS,
    SHOWN,
    Call,
    Constant,
    Scalar,
)
from dialect.expressions.storages import decimal, unsupported
from dialect.spark.numbers.division import MOST_SCALE, divided
from dialect.spark.numbers.long_arithmetic import long_difference, long_product, long_sum_of_two
from dialect.spark.numbers.long_division import long_quotient
from dialect.spark.numbers.long_sum import beyond, long_sum
from dialect.spark.numbers.shadows import SHADOWS, is_computed, is_near, shadow_of, with_specials
from dialect.spark.numbers.specials import passed_on, remainder, sign, whole_quotient
from dialect.spark.numbers.written import (
    is_whole,
    is_written_number,
    magnitude,
    negated,
    number_of,
    scale_of_text,
    shown,
    text_of,
    trimmed,
    value_of,
    written,
)
from dialect.spark.rendered import Builder, Rendered, absolute, cast, failing, named, opposite

_ADDED: Final = (functions.NUMERIC_ADD, functions.NUMERIC_SUB)
_WHOLE_QUOTIENTS: Final = (functions.DIV_NUMERIC_NUMERIC, functions.NUMERIC_DIV_TRUNC)
_ROUNDED: Final = (functions.ROUND_NUMERIC_INT4, functions.ROUND_NUMERIC)

# A product with more digits behind the point would leave hardly any before it.
_MOST_SCALE: Final = 26
_LONG_SQL: Final = 1000
_NO_ROOM: Final = f"a product has more than {FREE_SCALE} digits behind the point"


def scale_of(rendered: Rendered) -> int:
    """The digits behind the point of a numeric."""
    assert isinstance(rendered.storage, Decimal)
    return rendered.storage.scale


def _integral(rendered: Rendered) -> int:
    assert isinstance(rendered.storage, Decimal)
    return rendered.storage.precision - rendered.storage.scale


def _sum(symbol: str) -> Builder:
    def build(_: Call, arguments: Sequence[Rendered]) -> Rendered:
        left, right = arguments
        storage = decimal(max(map(_integral, arguments)) + 1, max(map(scale_of, arguments)))
        return cast(f"({left.sql} {symbol} {right.sql})", storage)

    return build


def _product(_: Call, arguments: Sequence[Rendered]) -> Rendered:
    return multiplied(*arguments)


def multiplied(left: Rendered, right: Rendered) -> Rendered:
    """The product, exact or an error."""
    scale = scale_of(left) + scale_of(right)
    if scale > _MOST_SCALE:
        return _product_in_parts(left, right)
    storage = decimal(_integral(left) + _integral(right) + 1, scale)
    return cast(f"({left.sql} * {right.sql})", storage)


def _product_in_parts(left: Rendered, right: Rendered) -> Rendered:
    """The product of whole parts and fractions one by one: all are exact, and only the last may not fit.

    Each factor is written several times, so a long one gets a name.
    """
    if len(left.sql) + len(right.sql) > _LONG_SQL:
        both = f"named_struct('left', {left.sql}, 'right', {right.sql})"
        product = _product_in_parts(replace(left, sql="factors.left"), replace(right, sql="factors.right"))
        return Rendered(named("factors", both, product.sql), product.storage)
    fractions = Decimal(MAX_DIGITS - 1, MAX_DIGITS - 2)
    storage = Decimal(MAX_DIGITS, FREE_SCALE)
    (whole, rest), (other_whole, other_rest) = _parts(left), _parts(right)
    last = f"({rest} * {other_rest})"
    kept = cast(last, Decimal(FREE_SCALE + 1, FREE_SCALE)).sql
    lost = f"{cast(last, fractions).sql} <> {cast(kept, fractions).sql}"
    total = f"({whole} * {other_whole} + {whole} * {other_rest} + {rest} * {other_whole} + {kept})"
    return cast(failing(lost, "22003", _NO_ROOM, total), storage)


def _parts(value: Rendered) -> tuple[str, str]:
    if scale_of(value) > FREE_SCALE:
        small = cast(value.sql, Decimal(MAX_DIGITS, FREE_SCALE)).sql
        value = Rendered(
            failing(f"{value.sql} % {_unit(FREE_SCALE)} <> 0", "22003", _NO_ROOM, small),
            Decimal(MAX_DIGITS, FREE_SCALE),
        )
    rest = cast(f"({value.sql} % 1)", Decimal(FREE_SCALE, FREE_SCALE)).sql
    whole = cast(f"({value.sql} - {value.sql} % 1)", Decimal(20, 0)).sql
    return whole, rest


def _unit(scale: int) -> str:
    return cast(f"'{10**-scale:.{scale}f}'", Decimal(scale, scale)).sql


def _remainder(_: Call, arguments: Sequence[Rendered]) -> Rendered:
    left, right = arguments
    storage = decimal(min(map(_integral, arguments)), max(map(scale_of, arguments)))
    return cast(f"({left.sql} % {right.sql})", storage)


def _whole_quotient(_: Call, arguments: Sequence[Rendered]) -> Rendered:
    """Spark's own DIV gives a bigint, and another number where it is too long for that."""
    left, right = arguments
    storage = decimal(min(MAX_DIGITS, _integral(left) + scale_of(right)), 0)
    return cast(f"(({left.sql} - {left.sql} % {right.sql}) / {right.sql})", storage)


def _quotient(_: Call, arguments: Sequence[Rendered]) -> Rendered:
    return quotient(*arguments)


def quotient(left: Rendered, right: Rendered) -> Rendered:
    """The quotient: by Spark's own division where types tell how many digits the operands show."""
    both = (left, right)
    if any(not isinstance(operand.storage, Decimal) or scale_of(operand) > MOST_SCALE for operand in both):
        return long_quotient(left, right)
    return divided(left, right)


def _whole_quotient_has_room(left: Rendered, right: Rendered) -> bool:
    """Whether the digits that Spark leaves before the point of a quotient are enough for every one."""
    before = _integral(left) + 1 + scale_of(right)
    behind = max(6, max(scale_of(left), scale_of(right)) + scale_of(right) + _integral(right) + 1)
    if (excess := before + behind - MAX_DIGITS) > 0:
        behind -= excess // 2 + 1
    return _integral(left) + scale_of(right) <= MAX_DIGITS - behind


def _same_digits(written_as: Callable[[Rendered], str]) -> Builder:
    def build(_: Call, arguments: Sequence[Rendered]) -> Rendered:
        return cast(written_as(arguments[0]), arguments[0].storage)

    return build


def _sign(_: Call, arguments: Sequence[Rendered]) -> Rendered:
    return cast(f"sign({arguments[0].sql})", Decimal(1, 0))


def rounded(value: Rendered, scale: int) -> Rendered:
    """The value to so many digits behind the point (before it, if negative), halves away from zero."""
    if scale >= scale_of(value):
        return _lengthened(value, scale)
    storage = decimal(max(_integral(value), -scale) + 1, max(0, scale))
    return cast(f"round({value.sql}, {scale})", storage)


def _lengthened(value: Rendered, scale: int) -> Rendered:
    """The value with at least as many digits behind the point as it has, of which the last are zeros."""
    if _integral(value) + scale <= MAX_DIGITS:
        return cast(value.sql, decimal(_integral(value), scale))
    return written(value, str(scale))


def _truncated(value: Rendered, scale: int) -> Rendered:
    storage = decimal(max(_integral(value), -scale) + 1, max(0, scale))
    if scale >= scale_of(value):
        return _lengthened(value, scale)
    below, above = f"floor({value.sql}, {scale})", f"ceil({value.sql}, {scale})"
    return cast(f"CASE WHEN {value.sql} < 0 THEN {above} ELSE {below} END", storage)


def _round(call: Call, arguments: Sequence[Rendered]) -> Rendered:
    return rounded(arguments[0], _digits(call.arguments[1:]))


def _truncate(call: Call, arguments: Sequence[Rendered]) -> Rendered:
    return _truncated(arguments[0], _digits(call.arguments[1:]))


def _digits(arguments: Sequence[Scalar]) -> int:
    match arguments:
        case ():
            return 0
        case (Constant(text=str(text)),) if -MAX_DIGITS < int(text) < MAX_DIGITS:
            return int(text)
    raise unsupported("a numeric rounded to digits that are no constant")


def _whole(function: str) -> Builder:
    def build(_: Call, arguments: Sequence[Rendered]) -> Rendered:
        return cast(f"{function}({arguments[0].sql})", decimal(_integral(arguments[0]) + 1, 0))

    return build


def _scaled(builder: Builder, scale: Callable[[Sequence[str]], str] | None = None) -> Builder:
    """A function of numerics that may keep how they are written; `scale`: of the result, by those of them."""

    def build(call: Call, arguments: Sequence[Rendered]) -> Rendered:
        result = builder(call, [value_of(argument) for argument in arguments])
        if scale is None or not any(map(is_written_number, arguments)):
            return result
        finite = written(result, scale([number_of(argument).scale for argument in arguments]))
        if call.function not in SHADOWS or all(map(is_whole, arguments)):
            return finite
        return with_specials(finite, SHADOWS[call.function](*map(shadow_of, arguments)))

    return build


def _of_any(
    builder: Builder, special: Callable[..., Rendered], scale: Callable[[Sequence[str]], str] | None = None
) -> Builder:
    """A function of numerics; `special` adds what it gives for NaN and infinities where there may be any."""
    of_numbers = _scaled(builder, scale)

    def build(call: Call, arguments: Sequence[Rendered]) -> Rendered:
        operands = [argument for argument in arguments if isinstance(argument.storage, Decimal | Written)]
        may_be_special = any(argument.type.wide for argument in call.arguments)
        if not may_be_special or all(map(is_whole, operands)):
            return of_numbers(call, arguments)
        rest = arguments[len(operands) :]
        return special(lambda *numbers: of_numbers(call, [*numbers, *rest]), *operands)

    return build


def _of_sign(of_decimal: Callable[[Rendered], str], of_any: Callable[[Rendered], Rendered]) -> Builder:
    """What only changes the sign; `of_any` does it where the decimal is not the value in every row."""
    of_decimals = _scaled(_same_digits(of_decimal), _same)

    def build(call: Call, arguments: Sequence[Rendered]) -> Rendered:
        [argument] = arguments
        return of_decimals(call, arguments) if is_whole(argument) else of_any(argument)

    return build


def _scale(value: Rendered) -> Rendered:
    if is_whole(value):
        number = number_of(value)
        return Rendered(f"CASE WHEN {number.value.sql} IS NOT NULL THEN {number.scale} END", Plain.INT32)
    if is_computed(value):
        return Rendered(
            f"CASE WHEN {is_near(shadow_of(value))} THEN {number_of(value).scale} END", Plain.INT32
        )
    text = text_of(value)
    finite = f"{text} NOT IN {SPECIAL_TEXTS}"
    return Rendered(f"CASE WHEN {finite} THEN {scale_of_text(text)} END", Plain.INT32)


def _greatest(scales: Sequence[str]) -> str:
    return f"greatest({', '.join(scales)})"


def _added(scales: Sequence[str]) -> str:
    return f"({' + '.join(scales)})"


def _same(scales: Sequence[str]) -> str:
    return scales[0]


def is_always_exact(call: Call, arguments: Sequence[Rendered]) -> bool:
    """Whether a function of numerics has a result for all values of its arguments, as in PostgreSQL."""
    if call.function in _OF_ANY_NUMBER:
        return True
    if call.function in LONG_ARITHMETIC:
        return False  # PostgreSQL computes it faster wherever it may
    if call.function == functions.NUMERIC_DIV or any(map(is_written_number, arguments)):
        return False
    if call.function in _WHOLE_QUOTIENTS:
        return _whole_quotient_has_room(*arguments)
    if call.function in _ROUNDED and _integral(arguments[0]) == MAX_DIGITS:
        return False
    if call.function not in (*_ADDED, functions.NUMERIC_MUL):
        return True
    scales, integrals = list(map(scale_of, arguments)), list(map(_integral, arguments))
    if call.function == functions.NUMERIC_MUL:
        return sum(integrals) + sum(scales) <= MAX_DIGITS
    return max(integrals) + 1 + max(scales) <= MAX_DIGITS


_OF_ANY_NUMBER: Final = frozenset(
    (functions.SCALE, functions.TRIM_SCALE, *(OWN_FUNCTIONS - LONG_ARITHMETIC), functions.NUMERIC_UPLUS)
)


NUMERICS: Final[Mapping[int, Builder]] = {
    functions.NUMERIC_ADD: _scaled(_sum("+"), _greatest),
    functions.NUMERIC_SUB: _scaled(_sum("-"), _greatest),
    functions.NUMERIC_MUL: _scaled(_product, _added),
    functions.NUMERIC_DIV: _quotient,
    **dict.fromkeys((1728, 1729), _of_any(_remainder, remainder, _greatest)),
    **dict.fromkeys(_WHOLE_QUOTIENTS, _of_any(_whole_quotient, whole_quotient)),
    **dict.fromkeys((functions.NUMERIC_ABS, functions.ABS_NUMERIC), _of_sign(absolute, magnitude)),
    functions.NUMERIC_UMINUS: _of_sign(opposite, negated),
    functions.NUMERIC_UPLUS: lambda _, arguments: arguments[0],
    1706: _of_any(_sign, sign),
    **dict.fromkeys(_ROUNDED, _of_any(_round, passed_on)),
    **dict.fromkeys((1709, 1710), _of_any(_truncate, passed_on)),
    **dict.fromkeys((1711, 2167), _of_any(_whole("ceil"), passed_on)),
    1712: _of_any(_whole("floor"), passed_on),
    functions.SCALE: lambda _, arguments: _scale(arguments[0]),
    functions.TRIM_SCALE: lambda _, arguments: trimmed(arguments[0]),
    BEYOND: lambda _, arguments: beyond(arguments[0]),
    LONG_SUM: lambda _, arguments: long_sum(*arguments),
    LONG_ADD: long_sum_of_two,
    LONG_SUBTRACT: long_difference,
    LONG_MULTIPLY: long_product,
    SHOWN: lambda _, arguments: shown(arguments[0], arguments[1].sql),
}
