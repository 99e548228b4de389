"""What merging keeps, and what it writes: under constant load, and after a large one."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.support.measure import Figures, Reading, Target, judge
from benchmarks.support.processes import cpu_seconds, wait_until_idle
from benchmarks.support.report import ROOT, header, table, verdict_line, write_json
from benchmarks.support.tpch_changes import SETTINGS
from catalog.capture import sizes
from catalog.capture.batch import Batch
from catalog.capture.store import manifest
from catalog.errors import DamagedBatch
from catalog.queries.logs import logs
from sources.warehouse.merging import consolidated, together
from sources.warehouse.warehouse import COMPRESSION, Warehouse, is_table_buffer
from tests.support.answers.answering import check, refresh
from tests.support.answers.few_batches import constant_load, most_batches
from tests.support.answers.tpch_data import load
from tests.support.capture.databases import warehouse_of
from tests.support.running.servers import Gavial, gavial, postgres
from tests.support.running.standing_databases import fresh_database, session
from tests.support.running.waiting_client import coordinator_of

GAVIAL: Final = "gavial"
LOAD: Final = "twenty transactions a second"
FILES: Final = "most files / bound"
BYTES: Final = "most bytes / bound"
MERGING: Final = "merging, share of a core"
COORDINATOR: Final = "coordinator, share of a core"
COPIED: Final = "lineitem copied"
INSERTED: Final = "as many rows inserted"
AMPLIFICATION: Final = "bytes written / bytes loaded"
CPU: Final = "CPU s after the load"
FIGURES: Final = (FILES, BYTES, MERGING, COORDINATOR, AMPLIFICATION, CPU)

TARGETS: Final = (
    Target(LOAD, FILES, GAVIAL, None, "at most", 1.0),
    Target(LOAD, BYTES, GAVIAL, None, "at most", 1.0),
    Target(COPIED, AMPLIFICATION, GAVIAL, None, "at most", 2.0),
    Target(INSERTED, AMPLIFICATION, GAVIAL, None, "at most", 2.0),
)

RATE: Final = 20
ACCOUNTS: Final = 10_000
REFRESHED_AFTER: Final = {"fresh": 5, "late": 60}
"""So many seconds after its last result each query is refreshed."""

QUERIES: Final = {
    "fresh": "SELECT branch, sum(balance) AS total, count(*) AS n FROM account GROUP BY branch",
    "late": "SELECT a.id, a.balance, count(n.id) AS notes "
    "FROM account a LEFT JOIN note n USING (id) GROUP BY a.id",
}
WRITES: Final = (
    f"UPDATE account SET balance = balance + 1 WHERE id IN (1 + {{n}} % 7, 1 + {{n}} * 7919 % {ACCOUNTS})",
    f"INSERT INTO note SELECT 1 + ({{n}} * 31 + g) % {ACCOUNTS} FROM generate_series(1, 3) g",
)
LOOK_SECONDS: Final = 10
MORE_LINES: Final = (
    "l_orderkey, l_partkey, l_suppkey, l_linenumber + 10, l_quantity, l_extendedprice, l_discount, l_tax, "
    "l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, "
    "l_comment"
)
FOOTER_BYTES: Final = 4096
"""Of a file, besides its rows."""

_MERGE: Final = re.compile(
    r"buffer (\S+): \d+ files become \d+, (\d+) bytes become (\d+), in ([\d.]+) s of a processor"
)


@click.command()
@click.option("--minutes", default=10.0, show_default=True, help="How long transactions come.")
@click.option("--scale", default=0.1, show_default=True, help="Scale factor of TPC-H for the large load.")
@click.option("--postgres", "major", default=18, show_default=True, help="Major version of the server.")
@click.option("--only", type=click.Choice(("constant", "load")), help="Only this question.")
@click.option(
    "--out",
    default=ROOT / "benchmarks" / "out",
    show_default="benchmarks/out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory for merging.json.",
)
def main(minutes: float, scale: float, major: int, only: str | None, out: Path) -> None:
    """Measure what merging keeps under constant load, and what it writes again after a large load."""
    top = header({"minutes": str(minutes), "scale": str(scale)})
    click.echo(top.line())
    readings = []
    if only != "load":
        readings.append(Reading(LOAD, GAVIAL, 0, constant(major, minutes * 60)))
    if only != "constant":
        readings += loaded(major, scale)
    cases = {reading.case for reading in readings}
    verdicts = [judge(target, readings) for target in TARGETS if target.case in cases]
    click.echo(table(readings, FIGURES, GAVIAL))
    click.echo("\n".join(map(verdict_line, verdicts)))
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / "merging.json", top, readings, verdicts)


def constant(major: int, seconds: float) -> Figures:
    """Transactions come all the time, and both queries are refreshed now and then."""
    with _running(major) as (running, dsn, user):
        user.execute(
            "CREATE TABLE account (id int PRIMARY KEY, branch int, balance int); CREATE TABLE note (id int); "
            f"INSERT INTO account SELECT g, g % 7, 100 FROM generate_series(1, {ACCOUNTS}) g"
        )
        for name, query in QUERIES.items():
            user.execute(f"CREATE STANDING QUERY {name} WITH (METHOD = linear) AS {query}".encode())
        warehouse = warehouse_of(user, running.data / "warehouse")
        coordinator, states = coordinator_of(running), list[BufferState]()
        used, began = cpu_seconds(coordinator), time.monotonic()
        due = {name: began + pause for name, pause in REFRESHED_AFTER.items()}
        looked = began
        with constant_load(dsn, *WRITES, seconds=seconds, rate=RATE):
            while (now := time.monotonic()) < began + seconds:
                for name in [name for name, moment in due.items() if moment <= now]:
                    refresh(user, name)
                    due[name] = time.monotonic() + REFRESHED_AFTER[name]
                if now >= looked:
                    states += (latest := _states(user, warehouse))
                    click.echo(f"{now - began:.0f} s: {', '.join(map(str, latest))}")
                    looked += LOOK_SECONDS
                time.sleep(0.5)
        elapsed = time.monotonic() - began
        used = cpu_seconds(coordinator) - used
        check(user, *QUERIES)
        return {
            FILES: max(state.files / state.most_files for state in states),
            BYTES: max(state.bytes / state.most_bytes for state in states),
            MERGING: sum(merge.seconds for merge in _merges(running)) / elapsed,
            COORDINATOR: used / elapsed,
        }


def loaded(major: int, scale: float) -> Iterator[Reading]:
    """A table that is copied when a query reads it first; then as many rows are inserted into it."""
    with (
        _running(major) as (running, _dsn, user),
        tempfile.TemporaryDirectory(prefix="gavial-merging-") as home,
    ):
        load(user, Path(home), scale)
        query = "SELECT l_returnflag, sum(l_quantity) AS quantity, count(*) AS n FROM lineitem GROUP BY 1"
        before = _Stand(0, 0)
        user.execute(f"CREATE STANDING QUERY q WITH (METHOD = linear) AS {query}".encode())
        figures, before = _after(running, user, before)
        yield Reading(COPIED, GAVIAL, 0, figures)
        user.execute(f"INSERT INTO lineitem SELECT {MORE_LINES} FROM lineitem".encode())
        refresh(user, "q")
        figures, _ = _after(running, user, before)
        yield Reading(INSERTED, GAVIAL, 0, figures)
        check(user, "q")


@dataclass(frozen=True, slots=True)
class _Stand:
    """How many bytes tables take in the warehouse, and how many merges the log tells of."""

    bytes: int
    merges: int


def _after(running: Gavial, user: psycopg.Connection, before: _Stand) -> tuple[Figures, _Stand]:
    """What is done after a load until nothing is: all bytes that were written for those that came."""
    coordinator = coordinator_of(running)
    used = cpu_seconds(coordinator)
    wait_until_idle(coordinator)
    used = cpu_seconds(coordinator) - used
    told = _merges(running)
    merges = [merge for merge in told[before.merges :] if is_table_buffer(merge.buffer)]
    now = sum(batch.bytes for batch in manifest(user) if is_table_buffer(batch.buffer))
    came = now - before.bytes - sum(merge.after - merge.before for merge in merges)
    written = came + sum(merge.after for merge in merges)
    return {AMPLIFICATION: written / came, CPU: used}, _Stand(now, len(told))


@contextmanager
def _running(major: int) -> Iterator[tuple[Gavial, str, psycopg.Connection]]:
    """A server with a database, whose log tells of merges."""
    with (
        postgres(major, settings=SETTINGS) as server,
        gavial("--log-level", "info", upstream=server) as running,
        fresh_database(running) as dsn,
        session(dsn) as user,
    ):
        yield running, dsn, user


@dataclass(frozen=True, slots=True)
class BufferState:
    """What a buffer has, and may have at most."""

    buffer: str
    files: int
    most_files: int
    bytes: int
    most_bytes: float

    def __str__(self) -> str:
        return (
            f"{self.buffer[:12]} {self.files} of {self.most_files} files, "
            f"{self.bytes / 1000:.0f} of {self.most_bytes / 1000:.0f} kB"
        )


def _states(user: psycopg.Connection, warehouse: Warehouse) -> list[BufferState]:
    """All buffers with several files; none of one whose files are merged away while they are read."""
    states = []
    with user.transaction():
        known, batches = logs(user), manifest(user)
    for log in known:
        own = [batch for batch in batches if batch.buffer == log.buffer]
        most_files = most_batches(log, own)
        with suppress(DamagedBatch):
            unread = sum(batch.rows for batch in own if batch.to_offset > min(log.stops, default=0))
            most_bytes = _most_bytes(warehouse, own, unread) + most_files * FOOTER_BYTES
            size = sum(batch.bytes for batch in own)
            states.append(BufferState(log.buffer, len(own), most_files, size, most_bytes))
    return states


def _most_bytes(warehouse: Warehouse, batches: Sequence[Batch], unread: int) -> float:
    """Three rows for each that is there, those that are not read, and those that may cancel out (0031)."""
    rows = consolidated(together([warehouse.read(batch) for batch in batches]))
    width = max(_size(rows) - _size(rows.slice(0, 0)), 0) / max(rows.num_rows, 1)
    return float(width * (3 * rows.num_rows + unread + sizes.SMALL_ROWS))


def _size(rows: pa.Table) -> int:
    """How many bytes a file of the rows has."""
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, compression=COMPRESSION, store_schema=False)
    return int(sink.getvalue().size)


@dataclass(frozen=True, slots=True)
class Merge:
    """A merge as the log tells it: bytes of the files before and after, and seconds of a processor."""

    buffer: str
    before: int
    after: int
    seconds: float


def _merges(running: Gavial) -> list[Merge]:
    """The merges that the log tells of."""
    merges = _MERGE.findall(running.log.read_text())
    return [Merge(buffer, int(before), int(after), float(spent)) for buffer, before, after, spent in merges]


if __name__ == "__main__":
    main()
