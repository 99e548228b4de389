"""Numerics: decimals that lose no digit, and structs of a decimal and the text that PostgreSQL writes.

What has no decimal (NaN, the infinities, too many digits) passes; whoever computes with it is given an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from catalog.postgres import functions
from catalog.postgres.storage import MAX_DIGITS, NO_DIGITS, Decimal, ListOf, Padded, Plain, Storage, Written
from dialect.duckdb.rendered import (
    Builder,
    NotWritten,
    Number,
    Rendered,
    cast,
    duckdb_type,
    named,
    once,
    unless,
)
from dialect.expressions.constant_text import SPECIAL_TEXTS
from dialect.expressions.scalar import SHOWN, Call
from dialect.expressions.storages import decimal

_MOST_SCALE: Final = 26
"""A product with more digits behind the point would leave hardly any before it."""

_SMALL: Final = 18
"""DuckDB gives the product of decimals of so many digits no more than these."""

_MAGNITUDE: Final = "ltrim({text}, '-')"
_NEGATED: Final = (
    "CASE WHEN {text} LIKE '-%' THEN substring({text}, 2) "
    "WHEN {text} = 'NaN' OR translate({text}, '0.', '') = '' THEN {text} ELSE '-' || {text} END"
)


def converted(rendered: Rendered, storage: Storage) -> Rendered:
    """The same value stored in another way."""
    match rendered.storage, storage:
        case present, wanted if present == wanted:
            return rendered
        case present, Decimal() | Written(value=Decimal()) if present == NO_DIGITS:
            return cast("NULL", storage)
        case Decimal(scale=scale), Decimal(scale=wanted) if scale > wanted:
            raise NotWritten("a decimal with fewer digits behind the point")
        case Decimal(), Written(value=Decimal()):
            number = Number(rendered, str(rendered.storage.scale))
            return _stored(number, storage)
        case Written(), Written(value=Decimal()) if has_texts_alone(rendered):
            return _moved(rendered, storage)
        case Written(), Written(value=Decimal()) if rendered.number is not None:
            return _stored(rendered.number, storage)
        case ListOf(element=present), ListOf(element=wanted):
            element = converted(Rendered("element", present), wanted).sql
            return Rendered(f"list_transform({rendered.sql}, lambda element: {element})", storage)
        case Padded(length=int(length)), Padded(length=None):
            return Rendered(_padded(rendered.sql, length), storage)
        case Plain() | Decimal(), Plain() | Decimal():
            return cast(rendered.sql, storage)
    raise NotWritten(f"{duckdb_type(rendered.storage)} as {duckdb_type(storage)}")


def _padded(sql: str, length: int) -> str:
    return once(sql, lambda one: f"({one} || repeat(' ', {length} - length({one})))")


def _stored(number: Number, storage: Written) -> Rendered:
    wanted, present = storage.value, number.value.storage
    assert isinstance(wanted, Decimal) and isinstance(present, Decimal)
    if wanted.scale < present.scale:
        raise NotWritten("a decimal with fewer digits behind the point")
    return Rendered(_struct(number, storage), storage, number)


def _moved(value: Rendered, storage: Written) -> Rendered:
    """A numeric that may have a text alone, with another decimal, which there is wherever one can be."""
    present, wanted = value.storage, storage.value
    assert isinstance(present, Written) and isinstance(present.value, Decimal) and isinstance(wanted, Decimal)
    holds = wanted.holds(present.value)

    def struct(one: str) -> str:
        decimal = _read(f"({one}).text", wanted)
        if holds:
            there = f"CAST(({one}).value AS {duckdb_type(wanted)})"
            decimal = f"CASE WHEN ({one}).value IS NOT NULL THEN {there} ELSE {decimal} END"
        known = f"struct_pack(value := {decimal}, text := ({one}).text)"
        return f"CASE WHEN ({one}).text IS NOT NULL THEN {known} END"

    return Rendered(f"CAST({once(value.sql, struct)} AS {duckdb_type(storage)})", storage, value.number)


def number_of_text(text: str, storage: Written) -> Rendered:
    """A number by its text, with its decimal where it has one."""
    assert isinstance(storage.value, Decimal)
    struct = f"struct_pack(value := {_read('result', storage.value)}, text := result)"
    known = named("result", text, f"CASE WHEN result IS NOT NULL THEN {struct} END")
    return Rendered(f"CAST({known} AS {duckdb_type(storage)})", storage)


def _read(text: str, wanted: Decimal) -> str:
    """The decimal that a text is, NULL where it is none."""
    behind = f"length(rtrim(split_part({text}, '.', 2), '0'))"
    return f"CASE WHEN {behind} <= {wanted.scale} THEN TRY_CAST({text} AS {duckdb_type(wanted)}) END"


def _struct(number: Number, storage: Written) -> str:
    """The number with its text; one that has no decimal in this storage is Spark's to write."""
    present = number.value.storage
    assert isinstance(present, Decimal)
    behind = present.scale

    def struct(one: str) -> str:
        value = f"CAST({one} AS {duckdb_type(storage.value)})"
        text = once(decimal_text(one, present), lambda text: _cut(text, behind, number.scale), "shown")
        return f"CASE WHEN {one} IS NOT NULL THEN struct_pack(value := {value}, text := {text}) END"

    return f"CAST({once(number.value.sql, struct)} AS {duckdb_type(storage)})"


def _cut(text: str, behind: int, scale: str) -> str:
    """The text of a decimal of so many digits behind the point, with as many as the scale says."""
    if scale == str(behind):
        return text
    if not behind:
        return f"CASE WHEN {scale} > 0 THEN {text} || '.' || repeat('0', {scale}) ELSE {text} END"
    return (
        f"CASE WHEN {scale} = 0 THEN split_part({text}, '.', 1) "
        f"WHEN {scale} >= {behind} THEN {text} || repeat('0', {scale} - {behind}) "
        f"ELSE left({text}, length({text}) - ({behind} - {scale})) END"
    )


def written(value: Rendered, scale: str) -> Rendered:
    """A decimal that shows so many digits behind the point, of which it has no more."""
    number = Number(value, scale)
    storage = Written(value.storage)
    return Rendered(_struct(number, storage), storage, number)


def is_number(rendered: Rendered) -> bool:
    """Whether this is a numeric, in whichever way it is stored."""
    storage = rendered.storage
    return isinstance(storage.value if isinstance(storage, Written) else storage, Decimal)


def number_of(rendered: Rendered) -> Number:
    """The decimal of a numeric, and the digits that it shows."""
    if rendered.number is not None:
        return rendered.number
    if isinstance(rendered.storage, Decimal):
        return Number(rendered, str(rendered.storage.scale))
    assert isinstance(rendered.storage, Written)
    sql = rendered.sql

    def value(one: str) -> str:
        return unless(f"({one}).value IS NULL AND ({one}).text IS NOT NULL", f"({one}).value")

    scale = once(f"({sql}).text", scale_of_text, "shown")
    return Number(Rendered(once(sql, value), rendered.storage.value), scale)


def has_texts_alone(value: Rendered) -> bool:
    """Whether there may be numbers that have a text and no decimal."""
    storage = value.storage
    if not isinstance(storage, Written) or not isinstance(storage.value, Decimal):
        return False
    return value.number is None or not value.number.whole


def value_of(rendered: Rendered) -> Rendered:
    """A numeric as a decimal, anything else as it is."""
    return number_of(rendered).value if isinstance(rendered.storage, Written) else rendered


def scale_of_text(text: str) -> str:
    """How many digits a number shows behind the point."""
    behind = f"length({text}) - instr({text}, '.')"
    return f"CAST(CASE WHEN contains({text}, '.') THEN {behind} ELSE 0 END AS INTEGER)"


def text_of(rendered: Rendered) -> str:
    """A numeric as PostgreSQL writes it."""
    if isinstance(rendered.storage, Decimal):
        return decimal_text(rendered.sql, rendered.storage)
    return f"({rendered.sql}).text"


def decimal_text(sql: str, storage: Decimal) -> str:
    """A decimal as text: DuckDB leaves the 0 before the point out where a type has no digit there."""
    if storage.precision > storage.scale:
        return f"CAST({sql} AS VARCHAR)"
    if storage.scale >= MAX_DIGITS:
        raise NotWritten("the text of a decimal with all digits behind the point")
    wider = Decimal(storage.scale + 1, storage.scale)
    return f"CAST({cast(sql, wider).sql} AS VARCHAR)"


def _digits(rendered: Rendered) -> Decimal:
    assert isinstance(rendered.storage, Decimal)
    return rendered.storage


def _integral(rendered: Rendered) -> int:
    return _digits(rendered).precision - _digits(rendered).scale


def _sum(symbol: str) -> Builder:
    def build(_: Call, arguments: Sequence[Rendered]) -> Rendered:
        numbers = [number_of(argument) for argument in arguments]
        values = [number.value for number in numbers]
        scale = max(_digits(value).scale for value in values)
        storage = decimal(max(map(_integral, values)) + 1, scale)
        left, right = (cast(value.sql, storage).sql for value in values)
        total = cast(f"({left} {symbol} {right})", storage)
        return _shown_as(arguments, total, f"greatest({numbers[0].scale}, {numbers[1].scale})")

    return build


def _remainder(_: Call, arguments: Sequence[Rendered]) -> Rendered:
    """It has the sign of the dividend."""
    numbers = [number_of(argument) for argument in arguments]
    values = [number.value for number in numbers]
    storage = decimal(max(map(_integral, values)), max(_digits(value).scale for value in values))
    left, right = (cast(value.sql, storage).sql for value in values)
    rest = cast(f"({left} % {right})", storage)
    return _shown_as(arguments, rest, f"greatest({numbers[0].scale}, {numbers[1].scale})")


def _product(_: Call, arguments: Sequence[Rendered]) -> Rendered:
    numbers = [number_of(argument) for argument in arguments]
    left, right = (number.value for number in numbers)
    scale = _digits(left).scale + _digits(right).scale
    if scale > _MOST_SCALE:
        raise NotWritten("a product with many digits behind the point")
    storage = decimal(_integral(left) + _integral(right) + 1, scale)
    if storage.precision > _SMALL:
        factors = [
            cast(value.sql, Decimal(max(_SMALL + 1, _digits(value).precision), _digits(value).scale)).sql
            for value in (left, right)
        ]
    else:
        factors = [left.sql, right.sql]
    product = cast(f"({factors[0]} * {factors[1]})", storage)
    return _shown_as(arguments, product, f"({numbers[0].scale} + {numbers[1].scale})")


def _shown_as(arguments: Sequence[Rendered], result: Rendered, scale: str) -> Rendered:
    """The result, which shows all its digits where all arguments do."""
    return (
        written(result, scale)
        if any(isinstance(argument.storage, Written) for argument in arguments)
        else result
    )


def _same_digits(template: str, of_text: str) -> Builder:
    """A function that changes the sign alone, of a decimal and of a text."""

    def build(_: Call, arguments: Sequence[Rendered]) -> Rendered:
        if has_texts_alone(arguments[0]):
            return _rewritten(arguments[0], lambda text: of_text.format(text=text), template)
        number = number_of(arguments[0])
        result = cast(template.format(number.value.sql), number.value.storage)
        return _shown_as(arguments, result, number.scale)

    return build


def _rewritten(value: Rendered, text: Callable[[str], str], template: str = "{}") -> Rendered:
    """A numeric, which may have a text alone, with another text; the template has its decimal."""

    def struct(one: str) -> str:
        fields = f"value := {template.format(f'({one}).value')}, text := {text(f'({one}).text')}"
        return f"CASE WHEN ({one}).text IS NOT NULL THEN struct_pack({fields}) END"

    return Rendered(f"CAST({once(value.sql, struct)} AS {duckdb_type(value.storage)})", value.storage)


def _scale(_: Call, arguments: Sequence[Rendered]) -> Rendered:
    if has_texts_alone(arguments[0]):
        scale = once(f"({arguments[0].sql}).text", lambda text: _unless_special(text, scale_of_text(text)))
        return Rendered(scale, Plain.INT32)
    number = number_of(arguments[0])
    return Rendered(f"CASE WHEN {number.value.sql} IS NOT NULL THEN {number.scale} END", Plain.INT32)


def _unless_special(text: str, outcome: str) -> str:
    return f"CASE WHEN {text} NOT IN {SPECIAL_TEXTS} THEN {outcome} END"


def trimmed(value: Rendered) -> Rendered:
    """A numeric without the zeros at its end: equal values are written alike."""
    if has_texts_alone(value):
        return _rewritten(value, _without_zeros)
    number = number_of(value).value
    if not _digits(number).scale:
        return written(number, "0")
    text = decimal_text(number.sql, _digits(number))
    scale = once(text, lambda text: scale_of_text(f"rtrim(rtrim({text}, '0'), '.')"), "shown")
    return written(number, scale)


def _without_zeros(text: str) -> str:
    return f"CASE WHEN contains({text}, '.') THEN rtrim(rtrim({text}, '0'), '.') ELSE {text} END"


def _shown(_: Call, arguments: Sequence[Rendered]) -> Rendered:
    """A numeric with so many digits behind the point, at least as many as it needs."""
    value, digits = arguments
    if not has_texts_alone(value):
        return written(number_of(value).value, digits.sql)

    def longer(text: str) -> str:
        scale = scale_of_text(text)
        point = f"CASE WHEN {scale} = 0 THEN '.' ELSE '' END"
        padded = f"{text} || {point} || repeat('0', {digits.sql} - {scale})"
        is_padded = f"{digits.sql} > {scale} AND {text} NOT IN {SPECIAL_TEXTS}"
        return f"CASE WHEN {is_padded} THEN {padded} ELSE {text} END"

    return _rewritten(value, longer)


NUMERICS: Final[Mapping[int, Builder]] = {
    functions.NUMERIC_ADD: _sum("+"),
    functions.NUMERIC_SUB: _sum("-"),
    functions.NUMERIC_MUL: _product,
    **dict.fromkeys((1728, 1729), _remainder),
    **dict.fromkeys((functions.NUMERIC_ABS, functions.ABS_NUMERIC), _same_digits("abs({})", _MAGNITUDE)),
    functions.NUMERIC_UMINUS: _same_digits("(-{})", _NEGATED),
    functions.NUMERIC_UPLUS: lambda _, arguments: arguments[0],
    functions.SCALE: _scale,
    functions.TRIM_SCALE: lambda _, arguments: trimmed(arguments[0]),
    SHOWN: _shown,
}
