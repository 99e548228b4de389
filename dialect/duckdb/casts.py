"""Casts: those that DuckDB can do as PostgreSQL does them."""

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
from dialect.duckdb.dates import as_date, as_timestamp, limited_interval
from dialect.duckdb.numbers import converted, has_texts_alone, number_of, text_of, value_of, written
from dialect.duckdb.rendered import NotWritten, Rendered, cast
from dialect.expressions.scalar import Cast, CastMethod, Constant

_DIGITS: Final = {Plain.INT16: 5, Plain.INT32: 10, Plain.INT64: 19}
_TEXTS: Final = (TEXT, VARCHAR, BPCHAR)

Change: TypeAlias = Callable[[Rendered], Rendered]


def cast_to(node: Cast, argument: Rendered, storage: Storage) -> Rendered:
    """The argument as the node's type, which is stored so unless it is a numeric without a modifier."""
    match node.method:
        case CastMethod.RELABEL:
            return _relabelled(node, argument, storage)
        case CastMethod.LENGTH:
            return _limited(node.type, argument, storage)
        case CastMethod.FUNCTION if node.function in _FUNCTIONS:
            return _FUNCTIONS[node.function](argument if node.function in _OF_TEXTS else value_of(argument))
        case CastMethod.TEXT:
            return _through_text(node, argument, storage)
    raise NotWritten(f"a cast by function {node.function}")


def _relabelled(node: Cast, argument: Rendered, storage: Storage) -> Rendered:
    if node.type.oid == BPCHAR and node.argument.type.oid != BPCHAR:
        return Rendered(argument.sql, Padded(None))
    if isinstance(argument.storage, Padded):
        return argument
    if isinstance(storage, Decimal | Written) or storage == argument.storage:
        return argument
    raise NotWritten("a relabelling")


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
            return Rendered(f"rtrim(left({argument.sql}, {length}), ' ')", Padded(length))
        case _ if type_.oid == INTERVAL:
            return limited_interval(type_, argument)
    raise NotWritten("a type modifier")


def _rounded_to(type_: SqlType, argument: Rendered, storage: Storage) -> Rendered:
    """A decimal of fewer digits: DuckDB's own cast takes halves away from zero, as PostgreSQL does."""
    precision, scale = numeric_digits(type_.typmod)
    room = storage.value if isinstance(storage, Written) else storage
    if scale < 0 or precision > MAX_DIGITS or not isinstance(room, Decimal):
        raise NotWritten("a numeric rounded before the point, or of many digits")
    limited = cast(number_of(argument).value.sql, room)
    return limited if isinstance(storage, Decimal) else written(limited, str(room.scale))


def _through_text(node: Cast, argument: Rendered, storage: Storage) -> Rendered:
    source, target = node.argument.type.oid, node.type.oid
    if isinstance(node.argument, Constant) and node.argument.text is None:
        return cast("NULL", storage)
    text = storage if target == BPCHAR else Plain.TEXT
    if target in _TEXTS and source in (INT2, INT4, INT8):
        return Rendered(cast(argument.sql, Plain.TEXT).sql, text)
    if target in _TEXTS and source == NUMERIC:
        return Rendered(text_of(argument), text)
    raise NotWritten("a cast through text")


def _plain(storage: Plain) -> Change:
    return lambda argument: cast(argument.sql, storage)


def _to_numeric(argument: Rendered) -> Rendered:
    assert isinstance(argument.storage, Plain)
    return cast(argument.sql, Decimal(_DIGITS[argument.storage], 0))


def _numeric_to_integer(storage: Plain) -> Change:
    """Halves are taken away from zero, also by DuckDB's own cast between decimals."""

    def change(argument: Rendered) -> Rendered:
        assert isinstance(argument.storage, Decimal)
        return cast(cast(argument.sql, Decimal(38, 0)).sql, storage)

    return change


def _numeric_to_float(argument: Rendered) -> Rendered:
    """By the text, whose digits are read as the nearest float."""
    text = text_of(argument) if has_texts_alone(argument) else cast(value_of(argument).sql, Plain.TEXT).sql
    return cast(text, Plain.FLOAT64)


_OF_TEXTS: Final = frozenset((functions.FLOAT8_NUMERIC,))
"""Functions of numerics that need no decimal."""


_FUNCTIONS: Final[Mapping[int, Change]] = {
    **dict.fromkeys((754, 481), _plain(Plain.INT64)),
    **dict.fromkeys((313, 480, 2558), _plain(Plain.INT32)),
    **dict.fromkeys((314, 714), _plain(Plain.INT16)),
    2557: _plain(Plain.BOOLEAN),
    **dict.fromkeys((1740, 1781, 1782), _to_numeric),
    1744: _numeric_to_integer(Plain.INT32),
    1779: _numeric_to_integer(Plain.INT64),
    1783: _numeric_to_integer(Plain.INT16),
    **dict.fromkeys((235, 316, 482, 311), _plain(Plain.FLOAT64)),
    functions.FLOAT8_NUMERIC: _numeric_to_float,
    **dict.fromkeys((236, 318, 652), _plain(Plain.FLOAT32)),
    401: lambda argument: (
        Rendered(converted(argument, Plain.TEXT).sql, Plain.TEXT)
        if argument.storage is Plain.TEXT
        else Rendered(f"rtrim({argument.sql}, ' ')", Plain.TEXT)
    ),
    **dict.fromkeys((406, 1401), lambda argument: argument),
    2971: _plain(Plain.TEXT),
    2024: as_timestamp,
    2029: as_date,
}
