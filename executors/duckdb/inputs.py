"""What a statement reads besides what the database holds: files, and tables in memory, by names of their own.

The names are the same in every firing of a subplan, so that its statements are, and need not be parsed again.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import duckdb
import pyarrow as pa

_KEPT_STATEMENTS: Final = 2000
_ROWS_AT_ONCE: Final = 100_000

warnings.filterwarnings("ignore", "Arrow output on a DB-API result makes an extra copy", UserWarning)


class Statements:
    """Runs SELECTs in a database; each is parsed once. None may give more than `most_bytes`."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, most_bytes: float = math.inf) -> None:
        self.connection = connection
        self._most_bytes = most_bytes
        self._parsed: dict[str, duckdb.Statement] = {}

    def rows(self, sql: str, inputs: Inputs) -> pa.Table:
        """The rows of a SELECT over these inputs; `sql` has names of all of their files that it reads.

        A relation (`sql`) would be bound once when it is made, and once more when it is run, which costs more
        than the copy that is made here. The database's own limit does not count what it has handed over.
        """
        if sql not in self._parsed:
            if len(self._parsed) >= _KEPT_STATEMENTS:
                self._parsed.clear()
            [self._parsed[sql]] = self.connection.extract_statements(sql)
        inputs.register(self.connection)
        named = {name: paths for name, paths in inputs.files.items() if f"${name}," in sql}
        reader = self.connection.execute(self._parsed[sql], named).to_arrow_reader(_ROWS_AT_ONCE)
        assert reader is not None
        batches, size = list[pa.RecordBatch](), 0
        for batch in reader:
            batches.append(batch)
            size += batch.nbytes
            if size > self._most_bytes:
                raise duckdb.OutOfMemoryException(f"the rows of a statement take {size} bytes and more")
        return pa.Table.from_batches(batches, reader.schema)


@dataclass(slots=True)
class Inputs:
    """Tables in memory and lists of files, by name."""

    tables: dict[str, pa.Table] = field(default_factory=dict)
    files: dict[str, Sequence[str]] = field(default_factory=dict)
    registered: set[str] = field(default_factory=set)

    def table(self, rows: pa.Table) -> str:
        """A name for rows in memory."""
        name = f"rows_{len(self.tables)}"
        self.tables[name] = rows
        return name

    def parquet(self, paths: Sequence[str]) -> str:
        """A table function that reads files."""
        name = f"files_{len(self.files)}"
        self.files[name] = paths
        return f"read_parquet(${name}, hive_partitioning = false, union_by_name = true)"

    def register(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Have a database know the tables."""
        for name in self.tables.keys() - self.registered:
            connection.register(name, self.tables[name])
            self.registered.add(name)

    def unregister(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Have it forget them."""
        for name in self.registered:
            connection.unregister(name)
        self.registered.clear()
