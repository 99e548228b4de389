"""What it costs to know old rows: told whole by every change, or looked up by key."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

import psycopg

from benchmarks.capture_questions import (
    PER_SECOND,
    WAL,
    Laboratory,
    always,
    drop,
    transactions,
)
from benchmarks.support.loads import fill
from benchmarks.support.measure import Figures, Reading, take_turns
from catalog.capture.store import take_over
from coordinator.process.capture_thread import Capturing
from sources.old_rows.filling import Filling
from sources.tables.joining import join_tables
from sources.warehouse.site import CaptureSite
from sources.warehouse.warehouse import Warehouse
from tests.support.capture.databases import enrol, one
from tests.support.running.servers import wait_until

UPDATES = "old rows, updates of "
WRITERS = "old rows, pgbench"
FULL, KEY = "full", "key"
WRITER, CPU, PER_ROW = "writer us/change", "capture CPU us/change", "mirror B/row"

BYTES: Final = {"100 bytes": 60, "1 kB": 1_000, "20 kB out of line": 20_000}
"""Of a column that updates leave alone."""

ROWS: Final = 20_000
CHANGED: Final = 10_000
TABLES: Final = tuple(f"pgbench_{name}" for name in ("accounts", "branches", "tellers"))
DEFINITION: Final = """
    CREATE TABLE {name} (id int PRIMARY KEY, v int NOT NULL, filler text NOT NULL);
    ALTER TABLE {name} ALTER filler SET STORAGE EXTERNAL;
    INSERT INTO {name} SELECT i, 0, repeat('x', {width}) FROM generate_series(1, {rows}) i
"""
UPDATE: Final = """
    UPDATE {name} SET v = v + 1
    WHERE id IN (SELECT 1 + (random() * {rows})::int FROM generate_series(1, {changed}))
"""
BY: Final = "SELECT count(*) FROM gavial.sources WHERE old_row_by = %s AND relation = ANY (%s::regclass[])"


def old_rows(laboratory: Laboratory, turns: int, seconds: int) -> tuple[Reading, ...]:
    """Both ways, for rows of two widths and for pgbench."""
    readings: list[Reading] = []
    for number, (size, width) in enumerate(BYTES.items()):
        table = f"updated{number}"
        laboratory.connection.execute(DEFINITION.format(name=table, width=width, rows=ROWS).encode())
        readings += _updates(laboratory, UPDATES + size, table, turns)
    fill(laboratory.address, scale=10)
    return (*readings, *_writers(laboratory, turns, seconds))


def _updates(laboratory: Laboratory, case: str, table: str, turns: int) -> tuple[Reading, ...]:
    """A transaction of many changes, in any order of the keys: its WAL, and what it takes to capture it."""
    update = UPDATE.format(name=table, rows=ROWS, changed=CHANGED).encode()

    def measure(how: str, turn: int) -> Figures:
        connection = laboratory.connection
        with following(laboratory, f"{table}_{how}{turn}", (table,), how) as capturing:
            connection.execute(update)
            wait_until_at(capturing, laboratory.end())
            before, cpu, started = laboratory.end(), time.process_time(), time.perf_counter()
            changed = connection.execute(update).rowcount
            end, written = laboratory.end(), time.perf_counter() - started
            wait_until_at(capturing, end)
            cpu, seconds = time.process_time() - cpu, time.perf_counter() - started
            kept = sum(file.stat().st_size for file in capturing.mirrors.glob("*") if file.suffix == "")
        return {
            WAL: (end - before) / changed,
            PER_SECOND: changed / seconds,
            WRITER: written / changed * 1e6,
            CPU: cpu / changed * 1e6,
            PER_ROW: kept / ROWS,
        }

    ways = {how: partial(measure, how) for how in (FULL, KEY)}
    return take_turns(case, ways, turns)


def _writers(laboratory: Laboratory, turns: int, seconds: int) -> tuple[Reading, ...]:
    """pgbench's transactions at a rate below saturation."""

    def measure(how: str, turn: int) -> Figures:
        with following(laboratory, f"writers_{how}{turn}", TABLES, how):
            return transactions(laboratory, seconds)

    ways = {how: partial(measure, how) for how in (FULL, KEY)}
    return take_turns(WRITERS, ways, turns)


@contextmanager
def following(laboratory: Laboratory, slot: str, tables: tuple[str, ...], how: str) -> Iterator[Capturing]:
    """Tables under capture in this process, their old rows known in one way."""
    connection = laboratory.connection
    with psycopg.connect(laboratory.server.dsn(), autocommit=True) as session:
        home = laboratory.directory / slot
        site = CaptureSite(laboratory.server.dsn(), take_over(session), Warehouse(str(home)))
        with Capturing(site, slot, home / "scratch") as capturing:
            wait_until(lambda: capturing.position() > 0, "capture does not begin")
            enrol(connection, tables)
            while join_tables(session, site, capturing.position, always, site.warehouse.remove):
                pass
            for table in tables:
                connection.execute("SELECT gavial.set_old_row(%s, %s)", (table, how))
            Filling(session, site, capturing.mirrors, capturing.position, always).work()
            assert one(connection, BY, how, list(tables)) == len(tables)
            yield capturing
            connection.execute("SELECT gavial.dismiss()")
    drop(laboratory, slot)


def wait_until_at(capturing: Capturing, end: int) -> None:
    """Everything up to there is captured."""
    wait_until(lambda: capturing.position() >= end, "capture does not come along", 600)
