"""Brings Gavial up, loads TPC-H through it, and has PostgreSQL and Spark answer the same query."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, LiteralString, TypeAlias

import psycopg
import pyarrow as pa
from psycopg import sql
from pyarrow import csv

from catalog.errors import Error
from coordinator.embedded.binaries import binaries_for, describe
from coordinator.embedded.cluster import major_version
from executors.spark.session import SparkSettings, close_session, open_session

SCRIPTS: Final = Path(__file__).resolve().parent
PROGRAMS: Final = Path(sys.executable).parent
TABLES: Final = ("region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem")
START_SECONDS: Final = 120
SMALLEST_SCALE: Final = 0.001
LARGEST_SCALE: Final = 100
COPY_BYTES: Final = 1 << 20

MONEY: Final = pa.decimal128(15, 2)
LINEITEM: Final = {
    "l_quantity": MONEY,
    "l_extendedprice": MONEY,
    "l_discount": MONEY,
    "l_tax": MONEY,
    "l_returnflag": pa.string(),
    "l_linestatus": pa.string(),
    "l_shipdate": pa.date32(),
}

# TPC-H Q1. PostgreSQL and Spark write averages with different numbers of digits, hence the casts.
QUERY: Final = """
SELECT l_returnflag, l_linestatus,
       sum(l_quantity) AS sum_qty,
       sum(l_extendedprice) AS sum_base_price,
       sum(l_extendedprice * (1 - l_discount)) AS sum_disc_price,
       sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge,
       cast(avg(l_quantity) AS decimal(19, 6)) AS avg_qty,
       cast(avg(l_extendedprice) AS decimal(19, 6)) AS avg_price,
       cast(avg(l_discount) AS decimal(19, 6)) AS avg_disc,
       count(*) AS count_order
FROM lineitem
WHERE l_shipdate <= date '1998-12-01' - interval '90' day
GROUP BY l_returnflag, l_linestatus
ORDER BY l_returnflag, l_linestatus
"""
SHOWN: Final = {"returnflag": 0, "linestatus": 1, "sum_qty": 2, "sum_charge": 5, "avg_price": 7, "count": 9}

Row: TypeAlias = tuple[Any, ...]


class Failed(Exception):
    """The demonstration cannot go on; the message says why, in one line."""


def main() -> None:
    """Run the demonstration; what the user can mend is said in one line."""
    arguments = parse_arguments()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with contextlib.ExitStack() as stack:
            data = arguments.data or stack.enter_context(temporary_data())
            server = stack.enter_context(serving(data, arguments.port))
            demonstrate(data, arguments.scale)
            if not arguments.once:
                stay(server, data)
    except KeyboardInterrupt:
        sys.exit("run: interrupted")
    except (Failed, OSError, psycopg.Error) as error:
        sys.exit(f"run: {' '.join(str(error).split())}")
    except Error as error:
        sys.exit(f"run: {' '.join(filter(None, (error.message, error.detail, error.hint)))}")


def parse_arguments() -> argparse.Namespace:
    """Options; with --once a port and a directory of its own, so that nothing stays behind."""
    parser = argparse.ArgumentParser(prog="scripts/run", description=__doc__)
    parser.add_argument("--once", action="store_true", help="stop after the demonstration")
    parser.add_argument(
        "--data", type=Path, help="data directory (./gavial-data; with --once a temporary one)"
    )
    parser.add_argument("--port", type=int, help="port to listen on (5433; with --once any free one)")
    parser.add_argument(
        "--scale", type=scale_factor, default=0.01, help="scale factor of TPC-H (%(default)s)"
    )
    arguments = parser.parse_args()
    if arguments.port is None:
        arguments.port = 0 if arguments.once else 5433
    if arguments.data is None and not arguments.once:
        arguments.data = Path("gavial-data")
    return arguments


@contextlib.contextmanager
def temporary_data() -> Iterator[Path]:
    """A data directory that goes away again, with what lies outside where the server cannot reach in."""
    with tempfile.TemporaryDirectory(prefix="gavial-") as directory:
        os.chmod(directory, 0o711)
        data = Path(directory, "data")
        try:
            yield data
        finally:
            if (data / "postgres").is_symlink():
                shutil.rmtree((data / "postgres").resolve(), ignore_errors=True)


@contextlib.contextmanager
def serving(data: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """`gavial serve`, from the line that says it is ready until it has stopped."""
    server = subprocess.Popen(
        [PROGRAMS / "gavial", "serve", "--data", data, "--port", str(port)],
        stdout=subprocess.PIPE,
        bufsize=0,
    )
    try:
        wait_until_ready(server)
        yield server
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        server.terminate()
        status = server.wait()
    if status != 0:
        raise Failed(f"gavial serve ended with status {status}")


def wait_until_ready(server: subprocess.Popen[bytes]) -> None:
    """Pass on what it says until it is ready; where it ends instead, it has said why."""
    assert server.stdout is not None
    deadline = time.monotonic() + START_SECONDS
    while select.select([server.stdout], [], [], max(0.0, deadline - time.monotonic()))[0]:
        line = server.stdout.readline().decode()
        if not line:
            sys.exit(server.wait() or 1)
        print(line, end="", flush=True)
        if line.startswith("gavial: ready"):
            return
    raise Failed(f"gavial serve is not ready after {START_SECONDS} seconds")


def scale_factor(text: str) -> float:
    """A scale at which every table has rows."""
    scale = float(text)
    if not SMALLEST_SCALE <= scale <= LARGEST_SCALE:
        raise argparse.ArgumentTypeError(f"must be from {SMALLEST_SCALE} to {LARGEST_SCALE}")
    return scale


def demonstrate(data: Path, scale: float) -> None:
    """Load, have both answer, compare, and say what answered."""
    with psycopg.connect(run_program("gavial", "url", "--data", str(data)).strip()) as connection:
        provide_tables(connection, scale)
        connection.execute("SET search_path = tpch")
        postgres_rows, postgres_seconds = ask_postgres(connection)
        lineitem = read_lineitem(connection)
        gavial_version = fetch_value(connection, "SHOW gavial.version")
    spark_rows, spark_seconds, spark_name = ask_spark(lineitem)
    if postgres_rows != spark_rows:
        raise Failed(f"the answers differ: PostgreSQL's is {postgres_rows}, Spark's is {spark_rows}")
    print_rows(postgres_rows)
    say(f"TPC-H Q1, every row equal: {postgres_seconds:.2f} s in PostgreSQL, {spark_seconds:.2f} s in Spark")
    cluster = data / "postgres" / "cluster"
    say(f"PostgreSQL: {describe(binaries_for(cluster, major_version(cluster)))}")
    say(f"Spark: {spark_name}")
    say(f"Gavial: {gavial_version}, as SHOW gavial.version has it")


def provide_tables(connection: psycopg.Connection[Any], scale: float) -> None:
    """The tables of TPC-H, loaded by COPY in one transaction, unless they are there."""
    found = fetch_value(connection, "SELECT obj_description(to_regnamespace('tpch'), 'pg_namespace')")
    if found:
        say(f"found {found}")
        return
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="gavial-tpch-") as directory, connection.transaction():
        run_program("tpchgen-cli", "csv", "--scale-factor", str(scale), "--output-dir", directory)
        connection.execute((SCRIPTS / "tpch.sql").read_bytes())
        for table in TABLES:
            load(connection, table, Path(directory, f"{table}.csv"))
        what = f"TPC-H at scale {scale}"
        connection.execute(sql.SQL("COMMENT ON SCHEMA tpch IS {}").format(what))
    connection.execute("ANALYZE")
    say(f"loaded {what} in {time.monotonic() - started:.1f} s")


def load(connection: psycopg.Connection[Any], table: str, path: Path) -> None:
    """Fill one table."""
    command = sql.SQL("COPY {} FROM STDIN (FORMAT csv, HEADER)").format(sql.Identifier(table))
    with path.open("rb") as file, connection.cursor().copy(command) as copy:
        while part := file.read(COPY_BYTES):
            copy.write(part)


def read_lineitem(connection: psycopg.Connection[Any]) -> pa.Table:
    """What the query needs of `lineitem`, read back by COPY."""
    columns = sql.SQL(", ").join(map(sql.Identifier, LINEITEM))
    command = sql.SQL("COPY (SELECT {} FROM lineitem) TO STDOUT (FORMAT csv)").format(columns)
    with connection.cursor().copy(command) as copy:
        text = io.BytesIO(b"".join(copy))
    return csv.read_csv(
        text,
        read_options=csv.ReadOptions(column_names=list(LINEITEM)),
        convert_options=csv.ConvertOptions(column_types=LINEITEM),
    )


def ask_postgres(connection: psycopg.Connection[Any]) -> tuple[list[Row], float]:
    """PostgreSQL's answer, and the seconds it took."""
    started = time.monotonic()
    rows = connection.execute(QUERY).fetchall()
    return rows, time.monotonic() - started


def ask_spark(lineitem: pa.Table) -> tuple[list[Row], float, str]:
    """Spark's answer, the seconds it took, and what answered."""
    with tempfile.TemporaryDirectory(prefix="gavial-spark-") as directory:
        session = open_session(SparkSettings(Path(directory)))
        try:
            session.createDataFrame(lineitem).createOrReplaceTempView("lineitem")
            started = time.monotonic()
            rows = [tuple(row.values()) for row in session.sql(QUERY).toArrow().to_pylist()]
            seconds = time.monotonic() - started
            java = session.sql("SELECT java_method('java.lang.System', 'getProperty', 'java.version')")
            return rows, seconds, f"{session.version} on Java {java.collect()[0][0]}"
        finally:
            close_session(session)


def fetch_value(connection: psycopg.Connection[Any], query: LiteralString) -> Any:
    """The only value of a query's only row."""
    row = connection.execute(query).fetchone()
    assert row is not None
    return row[0]


def print_rows(rows: list[Row]) -> None:
    """The columns that fit a terminal."""
    shown = [[str(row[column]) for column in SHOWN.values()] for row in rows]
    for line in ([*SHOWN], *shown):
        print("  ".join(f"{text:>18}" for text in line))


def stay(server: subprocess.Popen[bytes], data: Path) -> None:
    """Until a signal, or until the server ends by itself."""
    url = shlex.join([str(PROGRAMS / "gavial"), "url", "--data", str(data)])
    with contextlib.suppress(KeyboardInterrupt):
        say(f'connect: psql "$({url})"; stop: Ctrl-C')
        server.wait()


def run_program(name: str, *arguments: str) -> str:
    """What a program beside this Python printed."""
    done = subprocess.run([PROGRAMS / name, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"{name}: {done.stderr.strip()}")
    return done.stdout


def say(text: str) -> None:
    """One line of progress."""
    print(f"run: {text}", flush=True)


if __name__ == "__main__":
    main()
