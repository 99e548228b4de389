"""Division of numerics whose digits only the rows tell: digit by digit, from how PostgreSQL writes them.

NaN and the infinities are divided too, and numbers that have no decimal; what needs more than 38 digits on
the way, or gives more than 20 before the point, is an error. `dialect/spark/numbers/division.py` says how
many digits PostgreSQL gives a quotient.
"""

from __future__ import annotations

from typing import Final

from catalog.postgres.storage import MAX_DIGITS, Decimal, Written
from dialect.spark.numbers.written import scale_of_text, text_of
from dialect.spark.rendered import Rendered, named, spark_type, text_literal

QUOTIENT: Final = Written(Decimal(MAX_DIGITS, 24))
_INTEGER: Final = spark_type(Decimal(MAX_DIGITS, 0))
_BASE: Final = 10_000
_SIGNIFICANT: Final = 16
_TOO_LONG: Final = "22003: a division takes more than 38 digits"


def long_quotient(left: Rendered, right: Rendered) -> Rendered:
    """The quotient as PostgreSQL gives it."""
    operands = f"named_struct('dividend', {text_of(left)}, 'divisor', {text_of(right)})"
    return Rendered(named("given", operands, _of_texts("given.dividend", "given.divisor")), QUOTIENT)


def _of_texts(left: str, right: str) -> str:
    left_infinite, right_infinite = (f"{text} IN ('Infinity', '-Infinity')" for text in (left, right))
    is_zero = f"translate({right}, '-.0', '') = ''"
    opposite = f"({left} LIKE '-%') <> ({right} LIKE '-%')"
    return (
        f"CASE WHEN {left} IS NULL OR {right} IS NULL THEN NULL "
        f"WHEN {left} = 'NaN' OR {right} = 'NaN' OR ({left_infinite} AND {right_infinite}) "
        f"THEN {_special(text_literal('NaN'))} "
        f"WHEN {is_zero} THEN raise_error('22012: division by zero') "
        f"WHEN {left_infinite} THEN {_special(f'''if({opposite}, '-Infinity', 'Infinity')''')} "
        f"WHEN {right_infinite} THEN {_quotient(text_literal('0'), '0')} "
        f"ELSE {_of_numbers(left, right, opposite)} END"
    )


def _of_numbers(left: str, right: str, opposite: str) -> str:
    """The quotient of both as integers: without the point, and with as many digits behind where that was."""
    scales = f"named_struct('dividend', {scale_of_text(left)}, 'divisor', {scale_of_text(right)})"
    scale = "greatest(scales.dividend, scales.divisor)"
    dividend, divisor = (
        _integer(text, f"{scale} - {own_scale}")
        for text, own_scale in ((left, "scales.dividend"), (right, "scales.divisor"))
    )
    numbers = f"named_struct('dividend', {dividend}, 'divisor', {divisor}, 'scale', {scale})"
    place = f"floor(({_leading('numbers.dividend')} - {_leading('numbers.divisor')} - 1) / {_BASE}BD)"
    digits = f"CAST(greatest(numbers.scale, {_SIGNIFICANT} - 4 * {place}, 0) AS INT)"
    outcome = named("digits", digits, named("found", _digits("numbers", "digits"), _rounded(opposite)))
    return named("scales", scales, named("numbers", numbers, outcome))


def _integer(text: str, zeros: str) -> str:
    shown = f"concat(translate({text}, '-.', ''), repeat('0', {zeros}))"
    return f"coalesce(try_cast({shown} AS {_INTEGER}), raise_error({text_literal(_TOO_LONG)}))"


def _leading(number: str) -> str:
    """The leading digit to the base 10000 and its place, of an integer with digits behind its point."""
    shown = f"CAST({number} AS STRING)"
    exponent = f"(char_length({shown}) - numbers.scale - 1)"
    place = f"CAST(floor({exponent} / 4BD) AS INT)"
    count = f"({exponent} - 4 * {place} + 1)"
    digit = f"CAST(rpad(left({shown}, {count}), {count}, '0') AS INT)"
    return f"CASE WHEN {number} = 0 THEN 0 ELSE {_BASE} * {place} + {digit} END"


def _digits(numbers: str, digits: str) -> str:
    """The quotient's whole part, so many digits behind its point as an integer, and what is left over."""
    divisor = f"{numbers}.divisor"
    whole = _divided(f"{numbers}.dividend", divisor)
    left_over = f"CAST({numbers}.dividend % {divisor} AS {_INTEGER})"
    start = f"named_struct('digits', CAST(0 AS {_INTEGER}), 'rest', {left_over})"
    number = "(state.rest * 10BD)"
    further = (
        f"named_struct('digits', CAST(state.digits * 10BD + {_divided(number, divisor)} AS {_INTEGER}), "
        f"'rest', CAST({number} % {divisor} AS {_INTEGER}))"
    )
    # A sequence from 1 to 0 would have two members.
    places = f"slice(sequence(0, {digits}), 2, {digits})"
    behind = f"aggregate({places}, {start}, (state, place) -> {further})"
    return f"named_struct('whole', {whole}, 'behind', {behind})"


def _divided(number: str, divisor: str) -> str:
    return f"CAST(({number} - {number} % {divisor}) / {divisor} AS {_INTEGER})"


def _rounded(opposite: str) -> str:
    """Halves away from zero; a quotient of zero has no sign."""
    rest = "found.behind.rest"
    up = f"CASE WHEN {rest} >= numbers.divisor - {rest} THEN 1BD ELSE 0BD END"
    behind = f"CAST(found.behind.digits + {up} AS STRING)"
    carried = "char_length(behind) > digits AND behind <> '0'"
    before = f"CASE WHEN {carried} THEN found.whole + 1BD ELSE found.whole END"
    sign = f"CASE WHEN {opposite} AND translate(concat(before, behind), '0', '') <> '' THEN '-' ELSE '' END"
    fraction = "CASE WHEN digits > 0 THEN concat('.', lpad(right(behind, digits), digits, '0')) ELSE '' END"
    text = f"concat({sign}, before, {fraction})"
    shown = named("shown", text, _quotient("shown", "digits"))
    return named("behind", behind, named("before", f"CAST({before} AS STRING)", shown))


def _quotient(text: str, digits: str) -> str:
    decimal = spark_type(QUOTIENT.value)
    assert isinstance(QUOTIENT.value, Decimal)
    value = f"CASE WHEN {digits} <= {QUOTIENT.value.scale} THEN try_cast({text} AS {decimal}) END"
    return _struct(value, text)


def _special(text: str) -> str:
    return _struct(f"CAST(NULL AS {spark_type(QUOTIENT.value)})", text)


def _struct(value: str, text: str) -> str:
    return f"CAST(named_struct('value', {value}, 'text', {text}) AS {spark_type(QUOTIENT)})"
