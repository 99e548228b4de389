"""TPC-H in a warehouse, as capture would have left it: what was there, and after it the newest orders."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.support.programs import find_program
from catalog.capture.batch import Batch
from catalog.postgres.schema import Column, Table, TableName, Tables
from catalog.postgres.types import BPCHAR, C_COLLATIONS, DEFAULT_COLLATION
from dialect.binding.bind import bind
from dialect.bound.query import Query
from dialect.expressions.environment import Environment
from planner.algebra.statistics import Statistics, TableStatistics
from sources.decode.arrow import arrow_type
from sources.warehouse.warehouse import COMMIT_LSN, IS_UPDATE, WEIGHT, Warehouse, table_buffer
from tests.support.binding.cases import FOLDER, Snapshot, read_snapshot, recorded

OLD: Final = 100
"""The position up to which all but the newest rows came."""

NEW: Final = 200

BATCH_ROWS: Final = 1 << 18
KEYS: Final = 6_000_000
"""Up to where order keys go at scale 1: of each 32 the first 8 are used."""

ROWS: Final = {
    "lineitem": 6e6,
    "orders": 1.5e6,
    "partsupp": 8e5,
    "part": 2e5,
    "customer": 1.5e5,
    "supplier": 1e4,
    "nation": 25.0,
    "region": 5.0,
}
ORDER_KEYS: Final = {"orders": "o_orderkey", "lineitem": "l_orderkey"}


@dataclass(frozen=True, slots=True)
class Laboratory:
    """The batches of all tables, whose oids are these, and what plans are made from."""

    warehouse: Warehouse
    manifest: tuple[Batch, ...]
    oids: dict[TableName, int]
    snapshot: Snapshot
    environment: Environment
    statistics: Statistics

    @property
    def tables(self) -> Tables:
        """As PostgreSQL describes them."""
        return self.snapshot.tables

    def bind(self, canonical: str, columns: Sequence[Column]) -> Query:
        """A query in PostgreSQL's own words."""
        return bind(canonical, self.snapshot.tables, self.snapshot.signatures, columns)

    def rows(self, table: str, since: int = 0) -> int:
        """How many rows a table has got since a position."""
        buffer = table_buffer(self.oids[TableName("tpch", table)])
        return sum(
            batch.rows for batch in self.manifest if batch.buffer == buffer and batch.from_offset >= since
        )


def empty(directory: Path, scale: float) -> tuple[Laboratory, Path]:
    """A laboratory without batches, and the folder where the tables have been made that go into it."""
    source, snapshot = directory / "tpch", read_snapshot()
    command = [find_program("tpchgen-cli"), "parquet", "-s", str(scale), "-o", str(source)]
    subprocess.run(command, check=True, capture_output=True)
    environment = Environment(snapshot.signatures.types, C_COLLATIONS | {DEFAULT_COLLATION})
    names = [name for name in snapshot.tables if name.name in ROWS]
    oids = {name: number for number, name in enumerate(names, 1)}
    warehouse = Warehouse(str(directory / "warehouse"))
    return Laboratory(warehouse, (), oids, snapshot, environment, Statistics()), source


def fill(directory: Path, scale: float, newest: float) -> Laboratory:
    """Make the tables; this share of the orders, those with the highest keys, comes last with its lines."""
    made, source = empty(directory, scale)
    first = int(KEYS * scale * (1 - newest))
    manifest = tuple(
        batch
        for name, oid in made.oids.items()
        for table in [made.tables[name]]
        for batch in _sealed(made.warehouse, oid, read_table(source, table, made.environment), table, first)
    )
    statistics = Statistics({name: TableStatistics(ROWS[name.name] * scale) for name in made.oids})
    return replace(made, manifest=manifest, statistics=statistics)


def queries(laboratory: Laboratory) -> dict[str, Query]:
    """The 22 queries of TPC-H, bound."""
    found = {}
    for path in sorted(FOLDER.glob("tpch/*.bound")):
        [case] = recorded(path)
        found[path.stem] = laboratory.bind(case.canonical, case.columns)
    return found


def read_table(source: Path, table: Table, environment: Environment) -> Iterator[pa.Table]:
    """The rows of a table as capture stores them."""
    types = {column.name: arrow_type(environment.storage(column.type)) for column in table.columns}
    padded = {column.name for column in table.columns if column.type.oid == BPCHAR}
    file = pq.ParquetFile(source / f"{table.name.name}.parquet")
    for batch in file.iter_batches(BATCH_ROWS, columns=list(types)):
        columns = [
            pc.utf8_rtrim_whitespace(batch[name].cast(type_)) if name in padded else batch[name].cast(type_)
            for name, type_ in types.items()
        ]
        yield pa.table(columns, names=list(types))


def _sealed(
    warehouse: Warehouse, oid: int, parts: Iterator[pa.Table], table: Table, first: int
) -> Iterator[Batch]:
    """Batches of the rows before the first newest key, then those from there on."""
    key = ORDER_KEYS.get(table.name.name)
    names = [f"a{number}" for number in range(1, len(table.columns) + 1)]
    newest = []
    for part in parts:
        old = part if key is None else part.filter(pc.less(part[key], first))
        if key is not None:
            newest.append(part.filter(pc.greater_equal(part[key], first)))
        if old.num_rows:
            yield warehouse.seal(table_buffer(oid), stamped(old.rename_columns(names), OLD), 0, OLD, 1)
    late = pa.concat_tables(newest) if newest else None
    if late is not None and late.num_rows:
        yield warehouse.seal(table_buffer(oid), stamped(late.rename_columns(names), NEW), OLD, NEW, 1)


def stamped(rows: pa.Table, position: int) -> pa.Table:
    """With the columns that end every batch."""
    count = rows.num_rows
    for name, value in ((WEIGHT, 1), (COMMIT_LSN, position)):
        rows = rows.append_column(name, pa.repeat(pa.scalar(value, pa.int64()), count))
    return rows.append_column(IS_UPDATE, pa.repeat(pa.scalar(False), count))
