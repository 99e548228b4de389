"""Writes an outcome into files: the tasks do, and its rows do not pass through the driver."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Observation
from pyspark.sql.functions import col, count, lit

from catalog.postgres.storage import Decimal, ListOf, Padded, Plain, Shaped, Storage, Written
from executors.executor import Folder
from executors.rows import OFFSET, WEIGHT, Schema, name_of
from executors.spark.types import data_type
from sources.decode.arrow import VALUE
from sources.warehouse.warehouse import COMPRESSION, IS_UPDATE

_ROW_GROUP_BYTES: Final = 32 << 20
"""So much of a file is put together in a task's memory, and in that of whoever reads the file."""

_FLOATING: Final = (Plain.FLOAT32, Plain.FLOAT64)


def write(frame: DataFrame, schema: Schema, folder: Folder) -> int:
    """Write the rows of an outcome as those of batches, in place of what is there; how many there are."""
    columns = {name_of(column): storage for column, storage in schema.items()}
    rows = frame.select(
        *(col(name).cast(data_type(storage)) for name, storage in columns.items()),
        col(WEIGHT),
        lit(folder.offset).cast("long").alias(OFFSET),
        lit(False).alias(IS_UPDATE),
    )
    counted = Observation()
    observed = rows.observe(counted, count(lit(1)).alias("rows"))
    writer = observed.write.mode("overwrite").options(**_options(columns))
    writer.parquet(folder.uri)
    return int(counted.get["rows"])


def _options(columns: dict[str, Storage]) -> dict[str, str]:
    """How all files of the warehouse are: extremes in full, and none of floating columns."""
    floating = [path for name, storage in columns.items() for path in _floating(name, storage)]
    return {
        "compression": COMPRESSION,
        "parquet.block.size": str(_ROW_GROUP_BYTES),
        "parquet.statistics.truncate.length": str(2**31 - 1),
        "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
        **{f"parquet.column.statistics.enabled#{path}": "false" for path in floating},
    }


def _floating(path: str, storage: Storage) -> list[str]:
    """The column, or what is stored in it, if that is a floating number."""
    match storage:
        case Written(value=value):
            return _floating(f"{path}.{VALUE}", value)
        case Plain():
            return [path] if storage in _FLOATING else []
        case Decimal() | Padded() | ListOf() | Shaped():
            return []
