"""What the benchmark of firings asks of `gavial serve`: idling, nothing new, and the first answer of all."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

import psycopg

from benchmarks.firing_questions import FIRING, MILLISECONDS, SECONDS
from benchmarks.support.measure import Figures, Reading, take_turns
from benchmarks.support.processes import cpu_seconds
from benchmarks.support.report import ROOT
from tests.support.answers.answering import wait_until_answered
from tests.support.running.servers import Gavial, gavial, postgres
from tests.support.running.standing_databases import fresh_database, session

IDLE: Final = "20 standing queries, idle"
REFRESH: Final = "REFRESH, nothing new"
DEMONSTRATION: Final = "demonstration"
SHARE: Final = "% of a core"
FIRST: Final = "s to the first answers"
QUERIES: Final = 20
IDLE_SECONDS: Final = 30
REST_SECONDS: Final = 10


def service(turns: int, major: int) -> tuple[Reading, ...]:
    """Twenty answers over one table, and nothing that happens."""
    with (
        postgres(major) as server,
        gavial(upstream=server) as running,
        fresh_database(running) as dsn,
        session(dsn) as user,
    ):
        names = tuple(f"q{number}" for number in range(QUERIES))
        user.execute("CREATE TABLE t AS SELECT id AS a, id % 100 AS b FROM generate_series(1, 1000) AS id")
        user.execute("ALTER TABLE t ADD PRIMARY KEY (a)")
        for number, name in enumerate(names):
            query = f"SELECT b, count(*) AS n FROM t WHERE a % {QUERIES} >= {number} GROUP BY b"
            user.execute(f"CREATE STANDING QUERY {name} AS {query} WITH NO DATA".encode())
        wait_until_answered(user, names)
        time.sleep(REST_SECONDS)
        idle = take_turns(IDLE, {FIRING: lambda _turn: _idle(running)}, turns)
        return (*idle, *take_turns(REFRESH, {FIRING: lambda _turn: _refresh(user)}, turns))


def demonstration(turns: int) -> tuple[Reading, ...]:
    """From nothing at all to answers that are right."""

    def first(_turn: int) -> Figures:
        with tempfile.TemporaryDirectory(prefix="gavial-firing-") as name:
            Path(name).chmod(0o711)
            command = [sys.executable, str(ROOT / "scripts" / "demonstrate.py"), "--once", "--port", "0"]
            began = time.perf_counter()
            with subprocess.Popen(
                [*command, "--data", f"{name}/data"],
                stdout=subprocess.PIPE,
                text=True,
                env=os.environ | {"GAVIAL_SYSTEM_DIR": f"{name}/system"},
            ) as process:
                assert process.stdout is not None
                seconds = next(
                    time.perf_counter() - began for line in process.stdout if "answers include" in line
                )
                process.stdout.read()
            return {FIRST: seconds}

    return take_turns(DEMONSTRATION, {FIRING: first}, turns)


def _idle(running: Gavial) -> Figures:
    before = cpu_seconds(running.process.pid)
    time.sleep(IDLE_SECONDS)
    return {SHARE: (cpu_seconds(running.process.pid) - before) / IDLE_SECONDS * 100}


def _refresh(user: psycopg.Connection) -> Figures:
    began = time.perf_counter()
    user.execute("REFRESH STANDING QUERY q0")
    seconds = time.perf_counter() - began
    return {SECONDS: seconds, MILLISECONDS: seconds * 1e3}
