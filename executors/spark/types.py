"""The Spark type in which each stored value is read and handed over."""

from __future__ import annotations

from typing import Final, assert_never

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from catalog.postgres.storage import Decimal, ListOf, Padded, Plain, Shaped, Storage, Written
from executors.rows import WEIGHT, Schema, name_of
from sources.decode.arrow import ELEMENTS, SHAPE, TEXT, VALUE

_INTERVAL: Final = StructType(
    [
        StructField("months", IntegerType()),
        StructField("days", IntegerType()),
        StructField("microseconds", LongType()),
    ]
)
_PLAIN: Final[dict[Plain, DataType]] = {
    Plain.BOOLEAN: BooleanType(),
    Plain.INT16: ShortType(),
    Plain.INT32: IntegerType(),
    Plain.INT64: LongType(),
    Plain.FLOAT32: FloatType(),
    Plain.FLOAT64: DoubleType(),
    Plain.TEXT: StringType(),
    Plain.JSONB: StringType(),
    Plain.BYTES: BinaryType(),
    Plain.DATE: DateType(),
    Plain.TIME: LongType(),
    Plain.TIMESTAMP: TimestampNTZType(),
    Plain.TIMESTAMPTZ: TimestampType(),
    Plain.INTERVAL: _INTERVAL,
}


def data_type(storage: Storage) -> DataType:
    """The Spark type of a column that is stored so."""
    match storage:
        case Plain():
            return _PLAIN[storage]
        case Decimal(precision=precision, scale=scale):
            return DecimalType(max(1, precision), scale)
        case Padded():
            return StringType()
        case ListOf(element=element):
            return ArrayType(data_type(element))
        case Shaped(elements=elements):
            numbers = ArrayType(IntegerType())
            return StructType([StructField(ELEMENTS, data_type(elements)), StructField(SHAPE, numbers)])
        case Written(value=value):
            return StructType([StructField(VALUE, data_type(value)), StructField(TEXT, StringType())])
        case _:
            assert_never(storage)


def row_type(schema: Schema, names: dict[int, str] | None = None) -> StructType:
    """The type of a batch's rows, its columns under these names or their own, and then the weight."""
    columns = [
        StructField(name_of(column) if names is None else names[column], data_type(storage))
        for column, storage in schema.items()
    ]
    return StructType([*columns, StructField(WEIGHT, LongType(), nullable=False)])
