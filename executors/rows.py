"""How rows of a buffer lie in memory: its columns by their numbers in the plan, then a weight."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from catalog.postgres.storage import Storage
from sources.decode.arrow import arrow_type

Schema: TypeAlias = Mapping[int, Storage]
"""How each column of a buffer or an outcome is stored, in the columns' order."""

WEIGHT: Final = "weight"
"""How often a row is there: negative in a change that takes it back."""

OFFSET: Final = "commit_lsn"
"""The column of a file that says where in its buffer a row stands."""


def name_of(column: int) -> str:
    """The name of a column of the plan in rows in memory, and in the files of a query's own buffers."""
    return f"c{column}"


def arrow_schema(schema: Schema) -> pa.Schema:
    """The schema of rows in memory."""
    columns = [pa.field(name_of(column), arrow_type(storage)) for column, storage in schema.items()]
    return pa.schema([*columns, pa.field(WEIGHT, pa.int64(), nullable=False)])


def summed(rows: pa.Table) -> pa.Table:
    """Each different row once, with the sum of its weights; none is left of those whose sum is 0.

    Values are told apart as Arrow does, which compares no lists.
    """
    columns = [name for name in rows.column_names if name != WEIGHT]
    sums = rows.group_by(columns, use_threads=False).aggregate([(WEIGHT, "sum")])
    named = sums.rename_columns([*columns, WEIGHT])
    return named.filter(pc.not_equal(named[WEIGHT], 0))
