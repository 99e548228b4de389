"""Casts: those that Spark can do as PostgreSQL does them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from catalog.postgres import functions
from catalog.postgres.storage import MAX_DIGITS, Decimal, Padded, Plain, Storage, Written
from catalog.postgres.types import (
    BPCHAR,
    HEADER,
    INT2,
    INT4,
    INT8,
    INTERVAL,
    NO_TYPMOD,
    NUMERIC,
    TEXT,
    VARCHAR,
    SqlType,
    numeric_digits,
)
from dialect.expressions.scalar import Cast, CastMethod, Constant
from dialect.expressions.storages import unsupported
from dialect.spark.dates import as_date, as_timestamp
from dialect.spark.equality import comparable
from dialect.spark.interval_fields import limited_interval
from dialect.spark.numbers.floats import INFINITY, checked
from dialect.spark.numbers.numerics import rounded
from dialect.spark.numbers.specials import limited, refused_conversion
from dialect.spark.numbers.written import fields_of, is_whole, text_of, value_of, written
from dialect.spark.rendered import Rendered, cast, failing, text_literal

DIGITS: Final = {Plain.INT16: 5, Plain.INT32: 10, Plain.INT64: 19}
_TEXTS: Final = (TEXT, VARCHAR, BPCHAR)
_INTEGERS_OF_NUMERIC: Final = {1744: "integer", 1779: "bigint", 1783: "smallint"}
_INTEGER: Final = r"^[ \t\n\r\f\x0B]*[+-]?[0-9]+[ \t\n\r\f\x0B]*\z"

_BEYOND_BIGINT: Final = "9.223372036854775808E18D"

Change: TypeAlias = Callable[[Rendered], Rendered]


def cast_to(node: Cast, argument: Rendered, storage: Storage) -> Rendered:
    """The argument as the node's type, which is stored so unless it is a numeric without a modifier."""
    match node.method:
        case CastMethod.RELABEL:
            return _relabelled(node, argument, storage)
        case CastMethod.LENGTH:
            return _limited(node.type, argument, storage)
        case CastMethod.FUNCTION if node.function == functions.FLOAT8_NUMERIC:
            return _numeric_to_float(argument)
        case CastMethod.FUNCTION if node.function in _INTEGERS_OF_NUMERIC and _may_be_special(node, argument):
            convert, name = FUNCTIONS[node.function], _INTEGERS_OF_NUMERIC[node.function]
            return refused_conversion(convert, argument, name)
        case CastMethod.FUNCTION if node.function in FUNCTIONS:
            return FUNCTIONS[node.function](value_of(argument))
        case CastMethod.TEXT:
            return _through_text(node, argument, storage)
    raise unsupported(f"a cast that only PostgreSQL does alike (function {node.function})")


def _may_be_special(node: Cast, argument: Rendered) -> bool:
    return node.argument.type.wide and not is_whole(argument)


def _relabelled(node: Cast, argument: Rendered, storage: Storage) -> Rendered:
    if node.type.oid == BPCHAR and node.argument.type.oid != BPCHAR:
        return Rendered(argument.sql, Padded(None))
    if isinstance(argument.storage, Padded):
        return argument
    if isinstance(storage, Decimal | Written) or storage == argument.storage:
        return argument
    raise unsupported("a relabelling between types that are stored in different ways")


def _limited(type_: SqlType, argument: Rendered, storage: Storage) -> Rendered:
    """The value under its type's modifier, which an explicit cast cuts or rounds it to."""
    if type_.typmod == NO_TYPMOD:
        return argument
    length = type_.typmod - HEADER
    match type_.oid:
        case _ if type_.oid == NUMERIC:
            return _rounded_to(type_, argument, storage)
        case _ if type_.oid == VARCHAR:
            return Rendered(f"left({argument.sql}, {length})", Plain.TEXT)
        case _ if type_.oid == BPCHAR:
            return Rendered(f"rtrim(left({argument.sql}, {length}))", Padded(length))
        case _ if type_.oid == INTERVAL:
            return limited_interval(type_, argument)
    raise unsupported("a type modifier of another type than numeric, text and interval")


def _rounded_to(type_: SqlType, argument: Rendered, storage: Storage) -> Rendered:
    precision, scale = numeric_digits(type_.typmod)
    room = storage.value if isinstance(storage, Written) else storage
    if isinstance(room, Decimal) and precision <= MAX_DIGITS:

        def limit(number: Rendered) -> Rendered:
            return cast((rounded(number, scale) if scale < 0 else number).sql, room)

        if isinstance(storage, Decimal):
            return limit(value_of(argument))
        if is_whole(argument):
            return written(limit(value_of(argument)), str(room.scale))
        return limited(limit, argument)
    raise unsupported("a modifier of an array, or of more digits than a decimal has")


_INTEGERS: Final = {INT2: "smallint", INT4: "integer", INT8: "bigint"}


def _through_text(node: Cast, argument: Rendered, storage: Storage) -> Rendered:
    source, target = node.argument.type.oid, node.type.oid
    if isinstance(node.argument, Constant) and node.argument.text is None:
        return cast("NULL", storage)
    if target in _TEXTS and source in (INT2, INT4, INT8):
        return Rendered(cast(argument.sql, Plain.TEXT).sql, storage if target == BPCHAR else Plain.TEXT)
    if target in _TEXTS and source == NUMERIC:
        return Rendered(text_of(argument), storage if target == BPCHAR else Plain.TEXT)
    if reads_integer(node):
        return _integer_of_text(argument, storage, _INTEGERS[target])
    raise unsupported("a cast that depends on how PostgreSQL writes or reads a value")


def reads_integer(node: Cast) -> bool:
    """Whether a text is read as an integer: from PostgreSQL 16 on also 0x1F, which Spark cannot."""
    return (
        node.method is CastMethod.TEXT
        and node.argument.type.oid in _TEXTS
        and node.type.oid in (INT2, INT4, INT8)
    )


def _integer_of_text(argument: Rendered, storage: Storage, type_name: str) -> Rendered:
    """The integer, or PostgreSQL's words, which show the text."""
    text, number = argument.sql, cast(argument.sql, storage).sql
    too_large = _refusing('22003: value "', text, f'" is out of range for type {type_name}')
    unreadable = _refusing(f'22P02: invalid input syntax for type {type_name}: "', text, '"')
    read = f"CASE WHEN try_{number} IS NULL AND {text} IS NOT NULL THEN {too_large} ELSE {number} END"
    is_readable = f"{text} RLIKE {text_literal(_INTEGER)}"
    return Rendered(f"CASE WHEN NOT ({is_readable}) THEN {unreadable} ELSE {read} END", storage)


def _refusing(before: str, text: str, after: str) -> str:
    return f"raise_error(concat({text_literal(before)}, {text}, {text_literal(after)}))"


def _plain(storage: Plain) -> Change:
    return lambda argument: cast(argument.sql, storage)


def _same(argument: Rendered) -> Rendered:
    return argument


def _to_numeric(argument: Rendered) -> Rendered:
    assert isinstance(argument.storage, Plain)
    return cast(argument.sql, Decimal(DIGITS[argument.storage], 0))


def _numeric_to_integer(storage: Plain) -> Change:
    return lambda argument: cast(rounded(argument, 0).sql, storage)


def _float_to_integer(storage: Plain) -> Change:
    return lambda argument: cast(f"rint({argument.sql})", storage)


def _numeric_to_float(argument: Rendered) -> Rendered:
    """The numeric as a float; NaN, the infinities and what has too many digits are read from the text."""
    if is_whole(argument):
        return cast(value_of(argument).sql, Plain.FLOAT64)
    value, text = fields_of(argument.sql)
    read = cast(text, Plain.FLOAT64).sql
    infinite = f"abs({read}) = {INFINITY} AND {text} NOT IN ('Infinity', '-Infinity')"
    overflow = failing(infinite, "22003", "value out of range: overflow", read)
    return Rendered(
        f"CASE WHEN {value} IS NOT NULL THEN {cast(value, Plain.FLOAT64).sql} ELSE {overflow} END",
        Plain.FLOAT64,
    )


def _float_to_bigint(argument: Rendered) -> Rendered:
    """Spark takes the first float that is too large for the largest bigint."""
    too_large = f"{argument.sql} >= {_BEYOND_BIGINT}"
    whole = cast(f"rint({argument.sql})", Plain.INT64).sql
    return Rendered(failing(too_large, "22003", "bigint out of range", whole), Plain.INT64)


def _narrowed(argument: Rendered) -> Rendered:
    result = cast(argument.sql, Plain.FLOAT32).sql
    return Rendered(checked(result, (argument.sql,), nonzero=(f"{argument.sql} <> 0",)), Plain.FLOAT32)


FUNCTIONS: Final[Mapping[int, Change]] = {
    **dict.fromkeys((754, 481), _plain(Plain.INT64)),
    **dict.fromkeys((313, 480, 2558), _plain(Plain.INT32)),
    **dict.fromkeys((314, 714), _plain(Plain.INT16)),
    2557: _plain(Plain.BOOLEAN),
    **dict.fromkeys((1740, 1781, 1782), _to_numeric),
    1744: _numeric_to_integer(Plain.INT32),
    1779: _numeric_to_integer(Plain.INT64),
    1783: _numeric_to_integer(Plain.INT16),
    **dict.fromkeys((235, 316, 482, 311, functions.FLOAT8_NUMERIC), _plain(Plain.FLOAT64)),
    **dict.fromkeys((236, 318, 652), _plain(Plain.FLOAT32)),
    **dict.fromkeys((237, 238), _float_to_integer(Plain.INT16)),
    **dict.fromkeys((317, 319), _float_to_integer(Plain.INT32)),
    **dict.fromkeys((483, 653), _float_to_bigint),
    312: _narrowed,
    401: comparable,
    **dict.fromkeys((406, 1401), _same),
    2971: _plain(Plain.TEXT),
    2024: as_timestamp,
    2029: as_date,
}
