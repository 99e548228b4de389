"""What turning rows into columns costs: lineitem as PostgreSQL sends it, decoded and sealed, on one core."""

from __future__ import annotations

import platform
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
from psycopg import pq as libpq
from psycopg.adapt import Transformer

from benchmarks.support.measure import Figures, Target, judge, take_turns
from benchmarks.support.report import ROOT, header, table, verdict_line, write_json
from catalog.postgres.storage import StoredColumn, stored_column
from catalog.postgres.types import SqlType
from sources.decode.arrow import arrow_type
from sources.decode.columns import decode_rows
from sources.messages.copied_rows import copy_rows
from sources.messages.fields import Layout
from sources.warehouse.warehouse import Warehouse
from tests.support.running.servers import postgres

SCHEMA = ROOT / "proxy/command/demonstration/tpch.sql"
COLUMNS = """
    SELECT attname, atttypid::int8, atttypmod FROM pg_attribute
    WHERE attrelid = 'tpch.lineitem'::regclass AND attnum > 0 ORDER BY attnum
"""
CHANGES = """
    SELECT data FROM pg_logical_slot_peek_binary_changes(
        'decode', NULL, NULL, 'proto_version', '1', 'publication_names', 'decode', 'binary', %s)
"""
INSERT_HEAD = 6
LOOP_ROWS = 50_000

DECODED, SEALED = "lineitem, decoded", "lineitem, decoded and sealed"
RATE, SIZE = "rows/s", "bytes/row"
LOOP, COPY, BINARY, TEXT = "psycopg, row by row", "COPY binary", "pgoutput binary", "pgoutput text"
TARGETS = (
    *(Target(DECODED, RATE, way, None, "at least", 400_000) for way in (COPY, BINARY)),
    Target(DECODED, RATE, BINARY, LOOP, "at least", 5),
)
CODECS = ("none", "snappy", "lz4", "zstd")


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows as they were received."""

    data: bytes
    starts: Any
    layout: Layout


@click.command()
@click.option("--turns", default=5, show_default=True, help="How often everything is measured.")
@click.option("--scale", default=0.1, show_default=True, help="Scale of TPC-H; 0.1 are 600,000 rows.")
@click.option("--postgres", "major", default=15, show_default=True, help="Major version of the server.")
@click.option(
    "--out",
    default=ROOT / "benchmarks" / "out",
    show_default="benchmarks/out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory for decode.json.",
)
def main(turns: int, scale: float, major: int, out: Path) -> None:
    """Measure how many rows one core decodes in a second of its time, and what they weigh when sealed."""
    versions = {"pyarrow": pa.__version__, "numpy": np.__version__, "Python": platform.python_version()}
    top = header({**versions, "postgres": major, "scale": str(scale), "turns": turns})
    click.echo(top.line())
    pa.set_cpu_count(1)
    with tempfile.TemporaryDirectory(prefix="gavial-decode-") as directory:
        columns, received = receive(major, scale, Path(directory))
        sealing = sealers(received[BINARY], columns, Path(directory))
        readings = take_turns(DECODED, decoders(received, columns), turns) + take_turns(
            SEALED, sealing, turns
        )
    verdicts = [judge(target, readings) for target in TARGETS]
    click.echo(table(readings, (RATE, SIZE), LOOP))
    click.echo("\n".join(map(verdict_line, verdicts)))
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / "decode.json", top, readings, verdicts)


def receive(major: int, scale: float, directory: Path) -> tuple[list[StoredColumn], dict[str, Rows]]:
    """The columns of lineitem, and all its rows in each way that PostgreSQL sends them."""
    options = ("csv", "--scale-factor", str(scale), "--tables", "lineitem", "--output-dir", str(directory))
    subprocess.run([Path(sys.executable).with_name("tpchgen-cli"), *options], check=True, capture_output=True)
    with postgres(major) as server, psycopg.connect(server.dsn(), autocommit=True) as connection:
        connection.execute(SCHEMA.read_bytes())
        connection.execute("CREATE PUBLICATION decode FOR TABLE tpch.lineitem")
        connection.execute("SELECT pg_create_logical_replication_slot('decode', 'pgoutput')")
        # What lineitem refers to is not there; what is decoded has to be flushed.
        connection.execute("SET session_replication_role = replica; SET synchronous_commit = on")
        with connection.cursor().copy("COPY tpch.lineitem FROM STDIN (FORMAT csv, HEADER)") as copy:
            copy.write((directory / "lineitem.csv").read_bytes())
        described = connection.execute(COLUMNS).fetchall()
        columns = [stored_column(name, SqlType(oid, typmod), {}) for name, oid, typmod in described]
        (copied,) = copy_rows(connection.pgconn, b"SELECT * FROM tpch.lineitem", 1 << 31)
        return columns, {
            COPY: Rows(copied.data, copied.starts, Layout.COPY),
            BINARY: changes(connection, "true"),
            TEXT: changes(connection, "false"),
        }


def changes(connection: psycopg.Connection, binary: str) -> Rows:
    """The messages of pgoutput, one behind the other."""
    messages = connection.cursor(binary=True).execute(CHANGES, (binary,))
    inserts = [data for (data,) in messages if data[:1] == b"I"]
    lengths = np.array([len(message) for message in inserts], np.int64)
    return Rows(b"".join(inserts), np.cumsum(lengths) - lengths + INSERT_HEAD, Layout.PGOUTPUT)


def decoders(
    received: Mapping[str, Rows], columns: Sequence[StoredColumn]
) -> dict[str, Callable[[int], Figures]]:
    """The ways to decode: row by row, and ours."""

    def by_column(rows: Rows) -> Callable[[int], Figures]:
        return lambda _: {RATE: rate(len(rows.starts), lambda: decode(rows, columns))}

    def by_row(_: int) -> Figures:
        rows = received[COPY]
        some = Rows(rows.data, rows.starts[:LOOP_ROWS], rows.layout)
        return {RATE: rate(len(some.starts), lambda: loop(some, columns))}

    return {LOOP: by_row} | {way: by_column(rows) for way, rows in received.items()}


def rate(rows: int, work: Callable[[], object]) -> float:
    """Rows in a second of processor time, which other programs on the machine take nothing of."""
    started = time.process_time()
    work()
    return rows / (time.process_time() - started)


def decode(rows: Rows, columns: Sequence[StoredColumn]) -> pa.Table:
    """Our way."""
    decoded = decode_rows(rows.data, rows.starts, columns, rows.layout)
    return pa.table(list(decoded.arrays), names=[column.name for column in columns])


def loop(rows: Rows, columns: Sequence[StoredColumn]) -> pa.Table:
    """As one would write it: a row is split, psycopg makes objects of its fields, Arrow arrays of these."""
    transformer = Transformer()
    transformer.set_loader_types([column.type.oid for column in columns], libpq.Format.BINARY)
    read_length, found = struct.Struct(">i").unpack_from, []
    for start in rows.starts.tolist():
        at, fields = start + 2, []
        for _ in columns:
            (length,) = read_length(rows.data, at)
            fields.append(rows.data[at + 4 : at + 4 + length])
            at += 4 + length
        found.append(transformer.load_sequence(fields))
    arrays = [
        pa.array(values, arrow_type(column.storage))
        for column, values in zip(columns, zip(*found, strict=True), strict=True)
    ]
    return pa.table(arrays, names=[column.name for column in columns])


def sealers(
    rows: Rows, columns: Sequence[StoredColumn], directory: Path
) -> dict[str, Callable[[int], Figures]]:
    """The ways to seal: Parquet of every codec in memory, and a batch of the warehouse on disk."""
    warehouse, count = Warehouse(str(directory / "warehouse")), len(rows.starts)

    def written(codec: str) -> Callable[[int], Figures]:
        def measure(_: int) -> Figures:
            sink = pa.BufferOutputStream()
            found = rate(count, lambda: pq.write_table(decode(rows, columns), sink, compression=codec))
            return {RATE: found, SIZE: sink.tell() / count}

        return measure

    def sealed(_: int) -> Figures:
        batches = []
        found = rate(count, lambda: batches.append(warehouse.seal("table-1", decode(rows, columns), 0, 1, 1)))
        return {RATE: found, SIZE: batches[0].bytes / count}

    return {f"Parquet, {codec}": written(codec) for codec in CODECS} | {"warehouse": sealed}


if __name__ == "__main__":
    main()
