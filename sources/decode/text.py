"""Values in PostgreSQL's text form become an Arrow array: the form of types that have no other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catalog.errors import FeatureNotSupported, ValueNotStorable
from catalog.postgres.storage import Decimal, ListOf, Padded, Plain, Shaped, StoredColumn, Written
from dialect.expressions.interval_text import read_interval
from dialect.expressions.moment_text import read_date, read_time, read_timestamp
from sources.decode.arrow import INTERVAL, arrow_type, shaped
from sources.decode.nulls import spread
from sources.decode.strings import strings
from sources.decode.text_lists import split_arrays, split_lists
from sources.decode.written_numeric import structs
from sources.messages.octets import Values

ZEROS_BEHIND = r"(\.\d*?)0+$"


def decode_text(column: StoredColumn, values: Values) -> pa.Array:
    """These values, as the column stores them."""
    return decode_texts(column, strings(column.name, values))


def decode_texts(column: StoredColumn, texts: pa.Array) -> pa.Array:
    """These texts, as the column stores their values."""
    try:
        return _decode(column, texts)
    except (ValueError, OverflowError, FeatureNotSupported):  # Arrow's errors are ValueErrors
        raise ValueNotStorable(column.name, "Its text form is none that can be read.") from None


def _decode(column: StoredColumn, texts: pa.Array) -> pa.Array:
    match column.storage:
        case Decimal() as decimal:
            return _decimals(decimal, texts)
        case ListOf():
            return _lists(column, *split_lists(texts.to_pylist()))
        case Shaped():
            bounds, elements, shapes = split_arrays(texts.to_pylist())
            return shaped(_lists(column, bounds, elements), pa.array(shapes, pa.list_(pa.int32())))
        case Written(value=Decimal() as decimal):
            return structs(_decimals_if_they_fit(decimal, texts), texts)
        case Written():
            raise NotImplementedError("only numerics are stored so")
        case Padded(length=length):
            return texts if length is None else pc.ascii_rtrim(texts, " ")
        case Plain() as plain:
            return _plain(plain, texts)
        case _:
            assert_never(column.storage)


def _plain(storage: Plain, texts: pa.Array) -> pa.Array:
    match storage:
        case Plain.BOOLEAN:
            return _booleans(texts)
        case Plain.TEXT | Plain.JSONB:
            return texts
        case Plain.BYTES:
            return pa.array([bytes.fromhex(text[2:]) for text in texts.to_pylist()], pa.binary())
        case Plain.TIME:
            return pa.array([read_time(text) for text in texts.to_pylist()], pa.int64())
        case Plain.INTERVAL:
            return _intervals(texts)
        case Plain.INT16 | Plain.INT32 | Plain.INT64 | Plain.FLOAT32 | Plain.FLOAT64:
            return texts.cast(arrow_type(storage))
        case Plain.DATE:
            return _moments(texts, storage, read_date, pa.int32())
        case Plain.TIMESTAMP | Plain.TIMESTAMPTZ:
            return _moments(texts, storage, read_timestamp, pa.int64())
        case _:
            assert_never(storage)


def _decimals(storage: Decimal, texts: pa.Array) -> pa.Array:
    numbers = _decimals_if_they_fit(storage, texts)
    if numbers.null_count:
        raise ValueError("a number has too many digits, or is none")
    return numbers


def _decimals_if_they_fit(storage: Decimal, texts: pa.Array) -> pa.Array:
    """Arrow takes numbers of too many digits for others, so they are looked at before."""
    type_ = arrow_type(storage)
    fits = rf"^-?0*\d{{0,{storage.precision - storage.scale}}}(\.\d{{0,{storage.scale}}})?$"
    if pc.all(pc.match_substring_regex(texts, fits)).as_py():
        return texts.cast(type_)
    plain = pc.replace_substring_regex(texts, ZEROS_BEHIND, r"\1")
    return pc.if_else(pc.match_substring_regex(plain, fits), plain, pa.scalar(None, pa.string())).cast(type_)


def _moments(texts: pa.Array, storage: Plain, read: Callable[[str], int], number: pa.DataType) -> pa.Array:
    """Arrow reads years of four digits after Christ, and refuses all others and what is infinite."""
    try:
        return texts.cast(arrow_type(storage))
    except pa.ArrowInvalid:
        return pa.array([read(text) for text in texts.to_pylist()], number).cast(arrow_type(storage))


def _booleans(texts: pa.Array) -> pa.Array:
    places = pc.index_in(texts, pa.array(["f", "t"]))
    if places.null_count:
        raise ValueError("neither true nor false")
    return places.cast(pa.bool_())


def _intervals(texts: pa.Array) -> pa.Array:
    intervals = [asdict(read_interval(text)) for text in texts.to_pylist()]
    return pa.array(intervals, INTERVAL)


def _lists(column: StoredColumn, bounds: Sequence[int], elements: Sequence[str | None]) -> pa.Array:
    assert column.element is not None, "an array has a type of element"
    present = [element for element in elements if element is not None]
    array = pa.array([], arrow_type(column.element.storage))
    if present:
        array = _decode(column.element, pa.array(present, pa.string()))
    there = np.array([element is not None for element in elements], np.bool_)
    return pa.ListArray.from_arrays(pa.array(bounds, pa.int32()), spread(array, there))
