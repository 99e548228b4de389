"""Brings Gavial up, loads TPC-H through it, and keeps three standing queries exact while data changes."""

from __future__ import annotations

import argparse
import contextlib
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
from typing import Any, Final, LiteralString

import psycopg
from psycopg import sql

from catalog.errors import Error
from coordinator.embedded.binaries import binaries_for, describe
from coordinator.embedded.cluster import major_version

SCRIPTS: Final = Path(__file__).resolve().parent
PROGRAMS: Final = Path(sys.executable).parent
TABLES: Final = ("region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem")
START_SECONDS: Final = 120
SMALLEST_SCALE: Final = 0.001
LARGEST_SCALE: Final = 100
COPY_BYTES: Final = 1 << 20

# Each with its goal: revenue of undelivered orders by day, lines by status, customers without orders.
QUERIES: Final = {
    "open_orders": (
        0.05,
        """SELECT o_orderdate, count(DISTINCT o_orderkey) AS orders,
               sum(l_extendedprice * (1 - l_discount)) AS revenue
           FROM orders JOIN lineitem ON l_orderkey = o_orderkey
           WHERE l_linestatus = 'O' GROUP BY o_orderdate""",
    ),
    "by_status": (
        0.2,
        """SELECT l_returnflag, l_linestatus, count(*) AS lines, sum(l_quantity) AS quantity,
               avg(l_extendedprice) AS price, max(l_shipdate) AS latest
           FROM lineitem GROUP BY l_returnflag, l_linestatus""",
    ),
    "idle_customers": (
        1,
        """SELECT n_name, count(*) AS customers, sum(c_acctbal) AS balance
           FROM customer JOIN nation ON n_nationkey = c_nationkey
           WHERE NOT EXISTS (SELECT 1 FROM orders WHERE o_custkey = c_custkey) GROUP BY n_name""",
    ),
}

# Each batch is one transaction. The newest orders come again under new keys, as they would arrive.
BATCHES: Final = {
    "new orders": """
        WITH last AS (SELECT max(o_orderkey) AS key FROM orders), taken AS (
            SELECT o.*, (SELECT key FROM last) + row_number() OVER (ORDER BY o_orderkey) AS new_key
            FROM orders o ORDER BY o_orderkey DESC LIMIT 500
        ), inserted AS (
            INSERT INTO orders SELECT new_key, o_custkey, 'O', o_totalprice, o_orderdate + 30,
                o_orderpriority, o_clerk, o_shippriority, o_comment FROM taken
        )
        INSERT INTO lineitem SELECT new_key, l_partkey, l_suppkey, l_linenumber, l_quantity,
            l_extendedprice, l_discount, l_tax,
            'N', 'O', l_shipdate + 30, l_commitdate + 30, l_receiptdate + 30,
            l_shipinstruct, l_shipmode, l_comment
        FROM taken JOIN lineitem ON l_orderkey = o_orderkey
    """,
    "deliveries": """
        UPDATE lineitem SET l_linestatus = 'F', l_returnflag = 'A'
        WHERE l_linestatus = 'O' AND l_orderkey % 7 = 0
    """,
    "cancellations": """
        WITH gone AS (DELETE FROM lineitem WHERE l_orderkey % 97 = 5 RETURNING l_orderkey)
        DELETE FROM orders WHERE o_orderkey IN (SELECT l_orderkey FROM gone)
    """,
}


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
    """Load, create, change, refresh, verify, and say what answered."""
    url = run_program("gavial", "url", "--data", str(data)).strip()
    with psycopg.connect(url, autocommit=True) as connection:
        provide_tables(connection, scale)
        connection.execute("SET search_path = tpch")
        seconds = {name: [create(connection, name)] for name in QUERIES}
        for what, command in BATCHES.items():
            with connection.transaction():
                connection.execute(command.encode())
            for name in QUERIES:
                seconds[name].append(refresh(connection, name))
            say(f"{what}: {len(QUERIES)} answers include them")
        print_figures(connection, seconds)
        for name in QUERIES:
            verify(connection, name)
        say("every answer is PostgreSQL's own, row by row")
        gavial_version = fetch_value(connection, "SHOW gavial.version")
    cluster = data / "postgres" / "cluster"
    say(f"PostgreSQL: {describe(binaries_for(cluster, major_version(cluster)))}")
    say(f"Gavial: {gavial_version}, as SHOW gavial.version has it")


def create(connection: psycopg.Connection[Any], name: str) -> float:
    """Make a standing query, unless it is there; seconds until its first answer."""
    goal, query = QUERIES[name]
    started = time.monotonic()
    connection.execute(
        f"CREATE STANDING QUERY IF NOT EXISTS {name} WITH (FINAL_WORK = {goal}) AS {query}".encode()
    )
    say(f"{name}: {fetch_value(connection, f'SELECT count(*) FROM {name}'.encode())} rows")
    return time.monotonic() - started


def refresh(connection: psycopg.Connection[Any], name: str) -> float:
    """Have the answer brought up to date; the seconds it took."""
    started = time.monotonic()
    connection.execute(f"REFRESH STANDING QUERY {name}".encode())
    return time.monotonic() - started


def verify(connection: psycopg.Connection[Any], name: str) -> None:
    """Compare an answer with PostgreSQL's at one position."""
    rows = connection.execute(f"VERIFY STANDING QUERY {name}".encode()).fetchall()
    if rows:
        raise Failed(f"the answer of {name} differs from PostgreSQL's: {rows[0]}")


def print_figures(connection: psycopg.Connection[Any], seconds: dict[str, list[float]]) -> None:
    """For each query its goal, what it took, where its answer stands, and what was left for the trigger."""
    columns = ("query", "goal", "first answer", *BATCHES, "rows", "position", "predicted", "measured")
    lines = [columns]
    for name, (goal, _query) in QUERIES.items():
        rows = fetch_value(connection, f"SELECT count(*) FROM {name}".encode())
        position = fetch_value(
            connection, f"SELECT position FROM gavial.standing_queries WHERE name = '{name}'".encode()
        )
        took = (f"{each:.1f} s" for each in seconds[name])
        lines.append((name, str(goal), *took, str(rows), str(position), *final_work(connection, name)))
    for line in lines:
        print("  ".join(f"{text:>14}" for text in line))


def final_work(connection: psycopg.Connection[Any], name: str) -> tuple[str, str]:
    """Shares of the batch's work that were left for the last trigger: as predicted, and as measured."""
    row = connection.execute(
        "SELECT t.predicted_final_work, t.measured_final_work FROM gavial.triggers t "
        "JOIN gavial.standing_queries q ON q.id = t.query_id WHERE q.name = %s ORDER BY t.fired DESC LIMIT 1",
        (name,),
    ).fetchone()
    assert row is not None
    predicted, measured = ("-" if share is None else f"{share:.2f}" for share in row)
    return predicted, measured


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


def fetch_value(connection: psycopg.Connection[Any], query: LiteralString | bytes) -> Any:
    """The only value of a query's only row."""
    row = connection.execute(query).fetchone()
    assert row is not None
    return row[0]


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
