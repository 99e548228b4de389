"""Sums and products of numerics that no decimal holds: by their texts, fifteen digits at a time."""

from __future__ import annotations

from typing import Final

from catalog.postgres.storage import MAX_DIGITS, Decimal, ListOf, Written
from dialect.expressions.scalar import MOST_BEFORE
from dialect.spark.numbers.written import converted, fields_of, scale_of_text, text_of
from dialect.spark.rendered import Rendered, named, spark_type

_DIGITS: Final = 15
_BASE: Final = f"1{'0' * _DIGITS}BD"
_NUMBER: Final = spark_type(Decimal(MAX_DIGITS, 0))


def beyond(value: Rendered) -> Rendered:
    """A number, if it is too long to be summed as a decimal; else NULL, as NaN and the infinities are."""
    assert isinstance(value.storage, Written)
    decimal, text = fields_of(value.sql)
    special = f"{text} IN ('NaN', 'Infinity', '-Infinity')"
    limit = f"1{'0' * MOST_BEFORE}BD"
    short = f"{decimal} > -{limit} AND {decimal} < {limit} OR {special}"
    return Rendered(f"CASE WHEN {short} THEN NULL ELSE {value.sql} END", value.storage)


def long_sum(total: Rendered, numbers: Rendered) -> Rendered:
    """A sum and further numbers, none of them NULL, NaN or infinite; without zeros at its end."""
    assert isinstance(numbers.storage, ListOf)
    storage = numbers.storage.element
    assert isinstance(storage, Written) and isinstance(storage.value, Decimal)
    rest = f"transform({numbers.sql}, number -> {text_of(Rendered('number', storage))})"
    texts = f"concat(array({text_of(converted(total, storage))}), {rest})"
    return number_of_text(sum_of_texts(texts), storage)


def number_of_text(sql: str, storage: Written) -> Rendered:
    """A number by its text, with its decimal where it has one."""
    assert isinstance(storage.value, Decimal)
    behind = "coalesce(char_length(trim(TRAILING '0' FROM substring_index(shown, '.', -1))), 0)"
    fits = f"instr(shown, '.') = 0 OR {behind} <= {storage.value.scale}"
    value = f"CASE WHEN {fits} THEN try_cast(shown AS {spark_type(storage.value)}) END"
    struct = f"CAST(named_struct('value', {value}, 'text', shown) AS {spark_type(storage)})"
    return Rendered(named("shown", sql, struct), storage)


def sum_of_texts(texts: str) -> str:
    """The text of the sum of an array of texts, without zeros at its end.

    All are integers with equally many digits behind the point, and cut into parts of one length.
    """
    scale = f"array_max(transform(texts, text -> {scale_of_text('text')}))"
    digits = f"concat(translate(text, '-.', ''), repeat('0', scale - {scale_of_text('text')}))"
    sign = _sign_of("text")
    numbers = f"transform(texts, text -> named_struct('sign', {sign}, 'digits', {digits}))"
    length = "array_max(transform(numbers, number -> char_length(number.digits)))"
    count = f"CAST(ceil({length} / {_DIGITS}BD) AS INT)"
    padded = f"lpad(number.digits, count * {_DIGITS}, '0')"
    # From the last part to the first, as carrying goes.
    part = f"CAST(substring({padded}, (count - place) * {_DIGITS} + 1, {_DIGITS}) AS {_NUMBER})"
    added = f"CAST(total + number.sign * {part} AS {_NUMBER})"
    summed = f"aggregate(numbers, CAST(0 AS {_NUMBER}), (total, number) -> {added})"
    sums = f"transform(sequence(1, count), place -> {summed})"
    outcome = named("numbers", numbers, named("count", count, _text_of_sums(sums)))
    return named("texts", texts, named("scale", scale, outcome))


def product_of_texts(left: str, right: str) -> str:
    """The text of the product of two texts, without zeros at its end: each part by each."""
    parts = named(
        "left_parts", _parts_of(left), named("right_parts", _parts_of(right), _text_of_sums(_products()))
    )
    sign = f"{_sign_of(left)} * {_sign_of(right)}"
    scale = f"{scale_of_text(left)} + {scale_of_text(right)}"
    return named("sign", sign, named("scale", scale, parts))


def _parts_of(text: str) -> str:
    """The digits of a number in parts, the last ones first."""
    count = f"CAST(ceil(char_length(digits) / {_DIGITS}BD) AS INT)"
    part = f"substring(lpad(digits, count * {_DIGITS}, '0'), (count - place) * {_DIGITS} + 1, {_DIGITS})"
    parts = f"transform(sequence(1, count), place -> CAST({part} AS {spark_type(Decimal(_DIGITS, 0))}))"
    return named("digits", f"translate({text}, '-.', '')", named("count", count, parts))


def _products() -> str:
    """What the products of parts add up to at each place; `get` has NULL for a part that is not there."""
    product = "coalesce(get(left_parts, number - 1) * get(right_parts, place - number), 0)"
    added = f"(total, number) -> CAST(total + {product} AS {_NUMBER})"
    total = f"aggregate(sequence(1, size(left_parts)), CAST(0 AS {_NUMBER}), {added})"
    places = "sequence(1, size(left_parts) + size(right_parts))"
    return f"transform({places}, place -> CAST(sign * {total} AS {_NUMBER}))"


def _sign_of(text: str) -> str:
    return f"CASE WHEN {text} LIKE '-%' THEN -1BD ELSE 1BD END"


def _text_of_sums(sums: str) -> str:
    """The text of a number by what each of its parts adds up to, with `scale` digits behind the point."""
    return named("sums", sums, named("counted", _carried("sums"), _signed()))


def _carried(sums: str) -> str:
    """The digits of the sum but for what is carried at last, which may be negative."""
    whole = "(state.carried + part)"
    digits = f"pmod({whole}, {_BASE})"
    carried = f"CAST(({whole} - {digits}) / {_BASE} AS {_NUMBER})"
    written = f"concat(lpad(CAST(CAST({digits} AS {_NUMBER}) AS STRING), {_DIGITS}, '0'), state.digits)"
    start = f"named_struct('carried', CAST(0 AS {_NUMBER}), 'digits', '')"
    state = f"named_struct('carried', {carried}, 'digits', {written})"
    return f"aggregate({sums}, {start}, (state, part) -> {state})"


def _signed() -> str:
    """A negative sum is the opposite of that of the opposite parts."""
    opposite = _carried("transform(sums, part -> -part)")
    positive = f"CASE WHEN counted.carried < 0 THEN {opposite} ELSE counted END"
    whole = "concat(CAST(found.carried AS STRING), found.digits)"
    padded = "lpad(short, greatest(char_length(short), scale + 1), '0')"
    sign = "CASE WHEN counted.carried < 0 THEN '-' ELSE '' END"
    behind = "CASE WHEN scale > 0 THEN concat('.', right(padded, scale)) ELSE '' END"
    shown = f"concat({sign}, left(padded, char_length(padded) - scale), {behind})"
    without_zeros = "trim(TRAILING '.' FROM trim(TRAILING '0' FROM shown))"
    shown = named("shown", shown, f"CASE WHEN scale > 0 THEN {without_zeros} ELSE shown END")
    short = f"trim(LEADING '0' FROM {whole})"
    return named("found", positive, named("short", short, named("padded", padded, shown)))
