"""The Arrow type in which each stored value lies in a batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, assert_never

import pyarrow as pa

from catalog.postgres.storage import Decimal, ListOf, Padded, Plain, Shaped, Storage, Written

INTERVAL: Final = pa.struct([("months", pa.int32()), ("days", pa.int32()), ("microseconds", pa.int64())])
"""The type of intervals; the parts of a NULL are NULL, so each of them has to be nullable."""

VALUE: Final = "value"
TEXT: Final = "text"
"""The fields of what is stored as Written."""

ELEMENTS: Final = "elements"
SHAPE: Final = "shape"
"""The fields of what is stored as Shaped."""

PLAIN: Final[Mapping[Plain, pa.DataType]] = {
    Plain.BOOLEAN: pa.bool_(),
    Plain.INT16: pa.int16(),
    Plain.INT32: pa.int32(),
    Plain.INT64: pa.int64(),
    Plain.FLOAT32: pa.float32(),
    Plain.FLOAT64: pa.float64(),
    Plain.TEXT: pa.string(),
    Plain.JSONB: pa.string(),
    Plain.BYTES: pa.binary(),
    Plain.DATE: pa.date32(),
    Plain.TIME: pa.int64(),
    Plain.TIMESTAMP: pa.timestamp("us"),
    Plain.TIMESTAMPTZ: pa.timestamp("us", "UTC"),
    Plain.INTERVAL: INTERVAL,
}


def arrow_type(storage: Storage) -> pa.DataType:
    """The Arrow type of a column that is stored so."""
    match storage:
        case Plain():
            return PLAIN[storage]
        case Decimal(precision=precision, scale=scale):
            return pa.decimal128(max(1, precision), scale)
        case Padded():
            return pa.string()
        case ListOf(element=element):
            return pa.list_(arrow_type(element))
        case Written(value=value):
            return pa.struct([(VALUE, arrow_type(value)), (TEXT, pa.string())])
        case Shaped(elements=elements):
            return pa.struct([(ELEMENTS, arrow_type(elements)), (SHAPE, pa.list_(pa.int32()))])
        case _:
            assert_never(storage)


def is_written(type: pa.DataType) -> bool:
    """Whether this is what is stored as Written: no interval."""
    return bool(pa.types.is_struct(type) and type.get_field_index(TEXT) >= 0)


def is_shaped(type: pa.DataType) -> bool:
    """Whether this is what is stored as Shaped."""
    return bool(pa.types.is_struct(type) and type.get_field_index(SHAPE) >= 0)


def shaped(lists: pa.Array, shapes: pa.Array) -> pa.Array:
    """What is stored as Shaped, none of it NULL."""
    return pa.StructArray.from_arrays([lists, shapes], names=[ELEMENTS, SHAPE])


def columns_with_bounds(schema: pa.Schema) -> list[str]:
    """The columns whose least and greatest value a Parquet file may tell.

    Those of a floating column leave NaN out, which PostgreSQL and Spark take for greater than all numbers: a
    reader that goes by them would pass over rows that a condition holds for.
    """
    return [
        field.name
        for field in schema
        if not pa.types.is_floating(field.type) and not pa.types.is_nested(field.type)
    ]
