"""What is asked about capture: how fast a table is copied, how fast changes follow, what writers pay."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from benchmarks.support.address import Address
from benchmarks.support.loads import fill
from benchmarks.support.measure import Figures, Reading, take_turns
from benchmarks.support.processes import cpu_seconds
from benchmarks.support.programs import find_program, run
from catalog.capture.store import take_over
from catalog.postgres.shape import read_shape
from coordinator.process.capture_thread import Capturing
from sources.server.position import parse_lsn, take_position
from sources.tables.snapshot import copy_table
from sources.warehouse.site import CaptureSite
from sources.warehouse.warehouse import Warehouse
from tests.support.capture.databases import coordinator, enrol, oid_of, one, wait_until_captured
from tests.support.running.servers import Server, wait_until

COPY, STREAM, LATENCY, WRITERS, IDLE = "copy", "stream", "latency", "writers", "idle"
SECONDS, PER_SECOND, CPU, MILLISECONDS, TAIL, WAL, SHARE = (
    "s",
    "rows/s",
    "CPU us/row",
    "median ms",
    "p99 ms",
    "WAL B/tx",
    "core %",
)
OURS, COPY_PROGRAM, STREAM_PROGRAM, NOTHING = "gavial", "psql COPY", "pg_recvlogical", "not captured"

MARKERS = 100
RATE = 1000
WRITER_RATE = 150
IDLE_SECONDS = 20


def always() -> bool:
    """Go on."""
    return True


class Laboratory:
    """A server with TPC-H's lineitem and Gavial's schema, and a warehouse."""

    def __init__(self, server: Server, directory: Path, lines: Path) -> None:
        self.server = server
        self.directory = directory
        self.lines = lines
        self.connection = psycopg.connect(server.dsn(), autocommit=True)
        self.address = Address(
            server.host, server.port, server.user, server.password, server.database, "disable"
        )

    def load(self, table: str) -> None:
        """COPY all lines into a table, as a client would."""
        run(
            ["psql", "-X", "-q", "-c", rf"\copy {table} FROM '{self.lines}' (FORMAT csv, HEADER)"],
            self.address,
        )

    def end(self) -> int:
        """The end of the WAL."""
        return parse_lsn(one(self.connection, "SELECT pg_current_wal_insert_lsn()::text"))

    @contextmanager
    def capturing(self, slot: str) -> Iterator[Capturing]:
        """Capture in this process."""
        with psycopg.connect(self.server.dsn(), autocommit=True) as session:
            site = CaptureSite(self.server.dsn(), take_over(session), Warehouse(str(self.directory / slot)))
            with Capturing(site, slot, self.directory / "scratch") as capturing:
                wait_until(lambda: capturing.position() > 0, "capture does not begin")
                yield capturing


def copying(laboratory: Laboratory, turns: int) -> tuple[Reading, ...]:
    """All of lineitem at one position, against what only receives it."""
    shape = read_shape(laboratory.connection, oid_of(laboratory.connection, "lineitem"))
    rows = one(laboratory.connection, "SELECT count(*) FROM lineitem")
    dsn = laboratory.server.dsn()

    def ours(turn: int) -> Figures:
        site = CaptureSite(dsn, 0, Warehouse(str(laboratory.directory / f"copy{turn}")))
        started, cpu = time.perf_counter(), time.process_time()
        with take_position(dsn, always, print) as position:
            copy_table(site, position, shape, always)
        seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
        return {SECONDS: seconds, PER_SECOND: rows / seconds, CPU: cpu / rows * 1e6}

    def program(_turn: int) -> Figures:
        command = r"\copy (SELECT * FROM lineitem) TO '/dev/null' (FORMAT binary)"
        started = time.perf_counter()
        run(["psql", "-X", "-q", "-c", command], laboratory.address)
        seconds = time.perf_counter() - started
        return {SECONDS: seconds, PER_SECOND: rows / seconds}

    return take_turns(COPY, {COPY_PROGRAM: program, OURS: ours}, turns)


def streaming(laboratory: Laboratory, turns: int) -> tuple[Reading, ...]:
    """Lines that were copied into a captured table while nobody followed, from then to the last one."""
    rows = one(laboratory.connection, "SELECT count(*) FROM lineitem")

    def ours(turn: int) -> Figures:
        slot = f"stream{turn}"
        with laboratory.capturing(slot):
            pass
        laboratory.load("followed")
        end = laboratory.end()
        started, cpu = time.perf_counter(), time.process_time()
        with laboratory.capturing(slot) as capturing:
            wait_until(lambda: capturing.position() >= end, "capture does not come along", 600)
            seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
        drop(laboratory, slot)
        return {SECONDS: seconds, PER_SECOND: rows / seconds, CPU: cpu / rows * 1e6}

    def program(turn: int) -> Figures:
        slot = f"received{turn}"
        laboratory.connection.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (slot,))
        laboratory.load("followed")
        laboratory.connection.execute("SELECT pg_switch_wal()")
        end = one(laboratory.connection, "SELECT pg_current_wal_lsn()::text")
        started = time.perf_counter()
        received = subprocess.Popen(
            receive(laboratory, slot, "/dev/null", end), env=laboratory.address.environment()
        )
        received.wait()
        seconds = time.perf_counter() - started
        drop(laboratory, slot)
        return {SECONDS: seconds, PER_SECOND: rows / seconds}

    return take_turns(STREAM, {STREAM_PROGRAM: program, OURS: ours}, turns)


def drop(laboratory: Laboratory, slot: str) -> None:
    """The slot goes when its last reader has gone; the table is emptied."""
    active = "SELECT active FROM pg_replication_slots WHERE slot_name = %s"
    wait_until(lambda: not one(laboratory.connection, active, slot), "the slot stays in use")
    laboratory.connection.execute("SELECT pg_drop_replication_slot(%s)", (slot,))
    laboratory.connection.execute("TRUNCATE followed")


def receive(laboratory: Laboratory, slot: str, target: str, end: str | None = None) -> list[str]:
    """The command that receives what a slot sends, as we ask for it."""
    program = str(laboratory.server.cluster.binaries.program("pg_recvlogical"))
    options = ["proto_version=2", "publication_names=gavial", "binary=true", "streaming=true"]
    command = [program, "--start", "-S", slot, "-f", target, "-d", laboratory.server.database]
    command += [part for option in options for part in ("-o", option)]
    return command + (["--endpos", end] if end else [])


def following(laboratory: Laboratory, turns: int) -> tuple[Reading, ...]:
    """From the commit of a marked row to its being durable here, among 1,000 transactions a second."""

    def ours(turn: int) -> Figures:
        slot = f"latency{turn}"
        with laboratory.capturing(slot) as capturing, writing(laboratory, RATE):
            figures = marked(laboratory, lambda _marker, end: capturing.position() >= end)
        drop(laboratory, slot)
        return figures

    def program(turn: int) -> Figures:
        slot = f"heard{turn}"
        laboratory.connection.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (slot,))
        heard = bytearray()
        process = subprocess.Popen(
            receive(laboratory, slot, "-"), env=laboratory.address.environment(), stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        thread = threading.Thread(target=listen, args=(process.stdout.fileno(), heard))
        thread.start()
        try:
            with writing(laboratory, RATE):
                return marked(laboratory, lambda marker, _end: marker.encode() in heard)
        finally:
            process.terminate()
            process.wait()
            thread.join()
            drop(laboratory, slot)

    return take_turns(LATENCY, {STREAM_PROGRAM: program, OURS: ours}, turns)


def listen(descriptor: int, heard: bytearray) -> None:
    """Keep everything that is received."""
    while part := os.read(descriptor, 1 << 16):
        heard += part


def marked(laboratory: Laboratory, arrived: Callable[[str, int], bool]) -> Figures:
    """Commit marked rows, and see after how long each has arrived."""
    waits = []
    with psycopg.connect(laboratory.server.dsn(), autocommit=True) as connection:
        for number in range(MARKERS):
            marker = f"marker {number}."
            connection.execute("INSERT INTO trickle VALUES (%s)", (marker,))
            started = time.perf_counter()
            end = laboratory.end()
            while not arrived(marker, end):
                time.sleep(0.0005)
            waits.append((time.perf_counter() - started) * 1e3)
            time.sleep(0.05)
    waits.sort()
    return {MILLISECONDS: waits[len(waits) // 2], TAIL: waits[len(waits) * 99 // 100]}


@contextmanager
def writing(laboratory: Laboratory, rate: int) -> Iterator[None]:
    """One row a transaction, so many transactions a second, while this lasts."""
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
        script.write("INSERT INTO trickle VALUES ('a row of ordinary length, more or less');\n")
        script.flush()
        command = [find_program("pgbench"), "-n", "-M", "prepared", "-c", "4", "-R", str(rate), "-T", "3600"]
        writer = subprocess.Popen(
            [*command, "-f", script.name],
            env=laboratory.address.environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield
        finally:
            writer.kill()
            writer.wait()


def writers(laboratory: Laboratory, turns: int, seconds: int) -> tuple[Reading, ...]:
    """pgbench's transactions at a fixed rate: alone, and captured by a coordinator beside them."""
    fill(laboratory.address, scale=10)
    tables = [f"pgbench_{name}" for name in ("accounts", "branches", "tellers")]

    def alone(_turn: int) -> Figures:
        return transactions(laboratory, seconds)

    def captured(turn: int) -> Figures:
        home = laboratory.directory / f"writers{turn}"
        home.mkdir()
        enrol(laboratory.connection, tables)
        try:
            with coordinator(laboratory.server.dsn(), home, home / "log"):
                wait_until_captured(laboratory.connection, tables)
                return transactions(laboratory, seconds)
        finally:
            laboratory.connection.execute("SELECT gavial.dismiss()")

    return take_turns(WRITERS, {NOTHING: alone, OURS: captured}, turns)


def transactions(laboratory: Laboratory, seconds: int) -> Figures:
    """Latency and WAL of one run."""
    laboratory.connection.execute("CHECKPOINT")
    before = laboratory.end()
    with tempfile.TemporaryDirectory(prefix="pgbench-") as directory:
        command = ["pgbench", "-n", "-c", "8", "-R", str(WRITER_RATE), "-T", str(seconds), "-l"]
        run([*command, f"--log-prefix={directory}/log"], laboratory.address)
        lines = "".join(file.read_text() for file in Path(directory).iterdir()).splitlines()
    waits = sorted(int(line.split()[2]) / 1e3 for line in lines)
    wal = (laboratory.end() - before) / len(waits)
    return {MILLISECONDS: waits[len(waits) // 2], TAIL: waits[len(waits) * 99 // 100], WAL: wal}


def idling(laboratory: Laboratory, turns: int) -> tuple[Reading, ...]:
    """What a coordinator costs that has a captured table and nothing to do."""

    def ours(turn: int) -> Figures:
        home = laboratory.directory / f"idle{turn}"
        home.mkdir()
        enrol(laboratory.connection, ["trickle"])
        with coordinator(laboratory.server.dsn(), home, home / "log") as running:
            wait_until_captured(laboratory.connection, ["trickle"])
            time.sleep(3)
            before = cpu_seconds(running.process.pid)
            time.sleep(IDLE_SECONDS)
            return {SHARE: (cpu_seconds(running.process.pid) - before) / IDLE_SECONDS * 100}

    return take_turns(IDLE, {OURS: ours}, turns)
