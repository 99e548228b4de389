"""Values in PostgreSQL's binary form become an Arrow array, type by type."""

from __future__ import annotations

from typing import assert_never

import numpy as np
import pyarrow as pa

from catalog.postgres.storage import Decimal, ListOf, Padded, Plain, Shaped, StoredColumn, Written
from catalog.postgres.types import OID
from sources.decode.arrow import arrow_type, shaped
from sources.decode.lists import Elements, find_elements, find_shaped_elements
from sources.decode.moments import decode_date, decode_interval, decode_timestamp
from sources.decode.nulls import spread
from sources.decode.numeric import decode_numeric
from sources.decode.strings import decode_string
from sources.decode.written_numeric import decode_written_numeric
from sources.messages.octets import Values

NUMBERS = {
    Plain.INT16: ">i2",
    Plain.INT32: ">i4",
    Plain.INT64: ">i8",
    Plain.TIME: ">i8",
    Plain.FLOAT32: ">f4",
    Plain.FLOAT64: ">f8",
}


def decode_binary(column: StoredColumn, values: Values) -> pa.Array:
    """These values, as the column stores them."""
    match column.storage:
        case Decimal() as decimal:
            return decode_numeric(column.name, decimal, values)
        case ListOf():
            return _lists(column, find_elements(column.name, values))
        case Shaped():
            elements, shapes = find_shaped_elements(values)
            return shaped(_lists(column, elements), shapes)
        case Written(value=Decimal() as decimal):
            return decode_written_numeric(column.name, decimal, values)
        case Written():
            raise NotImplementedError("only numerics are stored so")
        case Padded():
            return decode_string(column, values)
        case Plain() as plain:
            return _plain(column, plain, values)
        case _:
            assert_never(column.storage)


def _plain(column: StoredColumn, storage: Plain, values: Values) -> pa.Array:
    match storage:
        case Plain.INT64 if column.type.oid == OID:
            return pa.array(values.numbers(">u4").astype(np.int64))
        case Plain.BOOLEAN:
            return pa.array(values.numbers("u1") != 0)
        case Plain.INT16 | Plain.INT32 | Plain.INT64 | Plain.TIME | Plain.FLOAT32 | Plain.FLOAT64:
            return pa.array(values.numbers(NUMBERS[storage]))
        case Plain.BYTES:
            return values.gather()
        case Plain.TEXT | Plain.JSONB:
            return decode_string(column, values)
        case Plain.DATE:
            return decode_date(values)
        case Plain.TIMESTAMP | Plain.TIMESTAMPTZ:
            return decode_timestamp(column.name, values, arrow_type(storage))
        case Plain.INTERVAL:
            return decode_interval(values)
        case _:
            assert_never(storage)


def _lists(column: StoredColumn, elements: Elements) -> pa.Array:
    assert column.element is not None, "an array has a type of element"
    values, array = elements.values, pa.array([], arrow_type(column.element.storage))
    if len(values):
        array = decode_binary(column.element, values)
    bounds = pa.array(elements.bounds.astype(np.int32))
    return pa.ListArray.from_arrays(bounds, spread(array, elements.present))
