"""Numerics that keep how they are written: a struct of the decimal and of PostgreSQL's text.

A value of the type Written(Decimal) whose decimal is NULL has none: it is NaN or infinite, or has more digits
than the decimal. It passes and is compared; computing with it here is an error that names it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from catalog.postgres.storage import Decimal, ListOf, Padded, Shaped, Storage, Written
from dialect.expressions.constant_text import SPECIAL_TEXTS
from dialect.expressions.storages import unsupported
from dialect.spark.rendered import Number, Rendered, absolute, cast, named, opposite, spark_type, text_literal
from dialect.spark.shapes import parts_of, shaped, with_shape

_NO_DECIMAL: Final = (
    "22003: the numeric value ",
    " is out of range for computing in a condition or an aggregate",
)
_MOST_SHOWN: Final = 100
_SHORT_SQL: Final = 60
"""What is longer, and written many times, is computed once."""

_EXACT: Final = "'m'"
"""Comes between what is a little less than the decimal and what is a little more."""


def converted(rendered: Rendered, storage: Storage) -> Rendered:
    """The same value stored in another way."""
    match rendered.storage, storage:
        case present, wanted if present == wanted:
            return rendered
        case Decimal(), Written(value=Decimal()):
            return _kept(rendered, storage)
        case Written(), Written(value=Decimal() as wanted):
            return _moved(rendered, wanted)
        case Written(), Decimal():
            return cast(value_of(rendered).sql, storage)
        case Padded(length=int(length)), Padded(length=None):
            return Rendered(f"rpad({rendered.sql}, {length}, ' ')", storage)
        case ListOf(element=present), ListOf(element=wanted) if isinstance(wanted, Written | Padded):
            element = converted(Rendered("element", present), wanted).sql
            return Rendered(f"transform({rendered.sql}, element -> {element})", storage)
        case ListOf(), Shaped(elements=elements):
            return cast(with_shape(converted(rendered, elements)).sql, storage)
        case Shaped(), Shaped(elements=elements):
            held, shape = parts_of(rendered)
            return cast(shaped(rendered.sql, converted(held, elements).sql, shape), storage)
        case _, Written():
            raise unsupported(f"values stored as {spark_type(rendered.storage)} and kept as written")
    return cast(rendered.sql, storage)


def number_of(rendered: Rendered) -> Number:
    """The decimal of a numeric, and the digits that it shows."""
    if rendered.number is not None:
        return rendered.number
    if isinstance(rendered.storage, Decimal):
        return Number(rendered, str(rendered.storage.scale), whole=True)
    assert isinstance(rendered.storage, Written)
    value, scale = _checked(rendered.sql), scale_of_text(fields_of(rendered.sql)[1])
    if len(rendered.sql) > _SHORT_SQL:
        value = named("operand", rendered.sql, _checked("operand"))
        scale = named("operand", fields_of(rendered.sql)[1], scale_of_text("operand"))
    return Number(Rendered(value, rendered.storage.value), scale, whole=False)


def _checked(sql: str) -> str:
    """The decimal, and an error where there is a text alone."""
    value, text = fields_of(sql)
    before, after = map(text_literal, _NO_DECIMAL)
    failure = f"raise_error(concat({before}, left({text}, {_MOST_SHOWN}), {after}))"
    return f"CASE WHEN {value} IS NULL AND {text} IS NOT NULL THEN {failure} ELSE {value} END"


def value_of(rendered: Rendered) -> Rendered:
    """A numeric as a decimal, anything else as it is."""
    return number_of(rendered).value if is_written_number(rendered) else rendered


def is_written_number(rendered: Rendered) -> bool:
    """Whether this is a numeric that keeps how it is written."""
    return isinstance(rendered.storage, Written) and isinstance(rendered.storage.value, Decimal)


def written(value: Rendered, scale: str) -> Rendered:
    """A decimal that shows so many digits behind the point, of which it has no more."""
    assert isinstance(value.storage, Decimal)
    storage, number = Written(value.storage), Number(value, scale, whole=True)
    if len(value.sql) + len(scale) <= 4 * _SHORT_SQL:
        return Rendered(_struct(value.sql, scale, storage), storage, number)
    both = f"named_struct('value', {value.sql}, 'scale', {scale})"
    struct = _struct("operand.value", "operand.scale", storage)
    return Rendered(named("operand", both, struct), storage, number)


def shown(value: Rendered, scale: str) -> Rendered:
    """A numeric with so many digits behind the point, at least as many as it needs."""
    if is_whole(value):
        return written(number_of(value).value, scale)
    if len(value.sql) > 4 * _SHORT_SQL:
        short = shown(replace(value, sql="operand", number=None), scale)
        return Rendered(named("operand", value.sql, short.sql), value.storage)
    decimal, text = fields_of(value.sql)
    missing, text_scale = f"({scale} - {scale_of_text(text)})", scale_of_text(text)
    point = f"CASE WHEN {text_scale} = 0 THEN '.' ELSE '' END"
    longer = f"concat({text}, {point}, repeat('0', {missing}))"
    finite = f"{text} NOT IN {SPECIAL_TEXTS}"
    rescaled = f"CASE WHEN {missing} > 0 AND {finite} THEN {longer} ELSE {text} END"
    return Rendered(_unless_null(value.sql, decimal, rescaled), value.storage)


def trimmed(value: Rendered) -> Rendered:
    """A numeric without the zeros at its end: equal values are written alike, bytes and all."""
    if is_whole(value):
        number = number_of(value).value
        assert isinstance(number.storage, Decimal)
        behind = f"char_length(trim(TRAILING '0' FROM substring_index({_plain(number.sql)}, '.', -1)))"
        return written(number, behind if number.storage.scale else "0")
    decimal, text = fields_of(value.sql)
    short = f"trim(TRAILING '.' FROM trim(TRAILING '0' FROM {text}))"
    return Rendered(
        _unless_null(value.sql, decimal, f"CASE WHEN instr({text}, '.') > 0 THEN {short} ELSE {text} END"),
        value.storage,
    )


def negated(value: Rendered) -> Rendered:
    """The opposite of a numeric of any size, NaN and the infinities too; zero has no sign."""
    _, text = fields_of("operand")
    other_sign = (
        f"CASE WHEN {text} LIKE '-%' THEN substring({text}, 2) "
        f"WHEN {text} = 'NaN' OR translate({text}, '0.', '') = '' THEN {text} ELSE concat('-', {text}) END"
    )
    return _with_sign(value, opposite, other_sign)


def magnitude(value: Rendered) -> Rendered:
    """A numeric of any size without its sign, NaN and the infinities too."""
    return _with_sign(value, absolute, f"trim(LEADING '-' FROM {fields_of('operand')[1]})")


def _with_sign(value: Rendered, of_decimal: Callable[[Rendered], str], text: str) -> Rendered:
    assert isinstance(value.storage, Written)
    decimal = cast(of_decimal(Rendered(fields_of("operand")[0], value.storage.value)), value.storage.value)
    struct = f"CAST({_unless_null('operand', decimal.sql, text)} AS {spark_type(value.storage)})"
    return Rendered(named("operand", value.sql, struct), value.storage)


def text_of(rendered: Rendered) -> str:
    """A numeric as PostgreSQL writes it."""
    return _plain(rendered.sql) if isinstance(rendered.storage, Decimal) else fields_of(rendered.sql)[1]


def scale_of_text(text: str) -> str:
    """How many digits a number shows behind the point."""
    return f"(CASE WHEN instr({text}, '.') > 0 THEN char_length({text}) - instr({text}, '.') ELSE 0 END)"


def fields_of(sql: str) -> tuple[str, str]:
    """The value and the text of what is stored as Written."""
    return f"({sql}).value", f"({sql}).text"


def order_key(rendered: Rendered, decimal: Decimal) -> str:
    """What is equal and ordered as PostgreSQL has it, NaN above all: a struct of no NULLs, NULL as a whole.

    Behind the rank comes the value as this decimal, and behind that what a number has more than the decimal.
    """
    if is_whole(rendered):
        value = number_of(rendered).value
        if isinstance(value.storage, Decimal) and decimal.holds(value.storage):
            return f"CASE WHEN {value.sql} IS NOT NULL THEN {_key('0', value.sql, _EXACT, decimal)} END"
        rendered = Rendered(converted(value, Written(decimal)).sql, Written(decimal))
    moved = converted(rendered, Written(decimal))
    if len(moved.sql) > _SHORT_SQL:
        return named("operand", moved.sql, _key_of_struct("operand", decimal))
    return _key_of_struct(moved.sql, decimal)


def _key_of_struct(sql: str, decimal: Decimal) -> str:
    value, text = fields_of(sql)
    return (
        f"CASE WHEN {value} IS NOT NULL THEN {_key('0', value, _EXACT, decimal)} "
        f"WHEN {text} IS NOT NULL THEN {_key_of_text(text, decimal)} END"
    )


def is_whole(rendered: Rendered) -> bool:
    """Whether the decimal of a numeric is its value in every row."""
    return isinstance(rendered.storage, Decimal) or (rendered.number is not None and rendered.number.whole)


def _key_of_text(text: str, decimal: Decimal) -> str:
    zero = f"CAST(0 AS {spark_type(decimal)})"
    before = f"trim(LEADING '-' FROM substring_index({text}, '.', 1))"
    behind = f"(CASE WHEN instr({text}, '.') > 0 THEN substring_index({text}, '.', -1) ELSE '' END)"
    is_long = f"char_length({before}) > {decimal.precision - decimal.scale} AND {before} <> '0'"
    magnitude = (
        f"concat(lpad(char_length({before}), 6, '0'), {before}, '.', trim(TRAILING '0' FROM {behind}))"
    )
    below = f"concat(translate({magnitude}, '0123456789', '9876543210'), '~')"
    rest = f"trim(TRAILING '0' FROM substring({behind}, {decimal.scale + 1}))"
    rest_below = f"concat('a', translate({rest}, '0123456789', '9876543210'), '~')"
    beside = f"CASE WHEN {text} LIKE '-%' THEN {rest_below} ELSE concat('p', {rest}) END"
    side = f"CASE WHEN {rest} = '' THEN {_EXACT} ELSE {beside} END"
    sign = f"CASE WHEN {text} LIKE '-%' THEN '-' ELSE '' END"
    start = f"concat({sign}, {before}, '.', substring({behind}, 1, {decimal.scale}), '0')"
    cut = f"CAST({start} AS {spark_type(decimal)})"
    return (
        f"CASE {text} WHEN 'NaN' THEN {_key('3', zero, text_literal(''), decimal)} "
        f"WHEN 'Infinity' THEN {_key('2', zero, text_literal(''), decimal)} "
        f"WHEN '-Infinity' THEN {_key('-2', zero, text_literal(''), decimal)} ELSE "
        f"CASE WHEN {is_long} AND {text} LIKE '-%' THEN {_key('-1', zero, below, decimal)} "
        f"WHEN {is_long} THEN {_key('1', zero, magnitude, decimal)} "
        f"ELSE {_key('0', cut, side, decimal)} END END"
    )


def _key(rank: str, value: str, rest: str, decimal: Decimal) -> str:
    exact = f"CAST({value} AS {spark_type(decimal)})"
    return f"named_struct('rank', {rank}, 'value', {exact}, 'rest', {rest})"


def _struct(value: str, scale: str, storage: Written) -> str:
    assert isinstance(storage.value, Decimal)
    behind = storage.value.scale
    text = _plain(value)
    if not behind:
        cut = f"CASE WHEN {scale} > 0 THEN concat({text}, '.', repeat('0', {scale})) ELSE {text} END"
    else:
        longer = f"rpad({text}, char_length({text}) + {scale} - {behind}, '0')"
        shorter = f"left({text}, char_length({text}) - ({behind} - {scale}))"
        cut = (
            f"CASE WHEN {scale} = 0 THEN substring_index({text}, '.', 1) "
            f"WHEN {scale} >= {behind} THEN {longer} ELSE {shorter} END"
        )
    return f"CAST({_unless_null(value, value, cut)} AS {spark_type(storage)})"


def _unless_null(known: str, value: str, text: str) -> str:
    return f"CASE WHEN {known} IS NOT NULL THEN named_struct('value', {value}, 'text', {text}) END"


def _plain(value: str) -> str:
    return f"CAST({value} AS STRING)"


def _kept(rendered: Rendered, storage: Written) -> Rendered:
    """A decimal that shows all its digits; one that has no place as such is a text alone."""
    present, wanted = rendered.storage, storage.value
    assert isinstance(present, Decimal) and isinstance(wanted, Decimal)
    number = Number(rendered, str(present.scale), whole=True)
    value = (
        cast(rendered.sql, wanted).sql
        if wanted.holds(present)
        else _if_it_fits(rendered.sql, present, wanted)
    )
    sql = f"CAST({_unless_null(rendered.sql, value, _plain(rendered.sql))} AS {spark_type(storage)})"
    return Rendered(sql, storage, number)


def _moved(rendered: Rendered, wanted: Decimal) -> Rendered:
    """A Written numeric with another decimal, which there is wherever one can be."""
    assert isinstance(rendered.storage, Written) and isinstance(rendered.storage.value, Decimal)
    present = rendered.storage.value
    value, text = fields_of(rendered.sql)
    fits = cast(value, wanted).sql if wanted.holds(present) else _if_it_fits(value, present, wanted)
    rest = (
        f"trim(TRAILING '0' FROM CASE WHEN instr({text}, '.') > 0 THEN substring_index({text}, '.', -1) END)"
    )
    read = f"CASE WHEN coalesce(char_length({rest}), 0) <= {wanted.scale} THEN "
    read += f"try_cast({text} AS {spark_type(wanted)}) END"
    moved = f"CASE WHEN {value} IS NOT NULL THEN {fits} ELSE {read} END"
    storage = Written(wanted)
    sql = f"CAST({_unless_null(rendered.sql, moved, text)} AS {spark_type(storage)})"
    return Rendered(sql, storage, rendered.number)


def _if_it_fits(value: str, present: Decimal, wanted: Decimal) -> str:
    there = f"try_cast({value} AS {spark_type(wanted)})"
    return f"CASE WHEN try_cast({there} AS {spark_type(present)}) = {value} THEN {there} END"
