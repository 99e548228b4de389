"""Standing queries that are answered: asked for, waited for, and compared with PostgreSQL."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from tests.support.capture.databases import one
from tests.support.running.servers import Gavial, Server, gavial, wait_until

ANSWER_SECONDS = 300
"""Against hanging: many answers may be published together, on a machine that is busy with other things."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a statement that waited ended."""

    state: str
    position: str | None
    sqlstate: str | None
    message: str | None


def ask(connection: psycopg.Connection, kind: str, *names: str) -> list[str]:
    """Have answers brought up to date, or verified, as of now; by the names of their tables."""
    with connection.transaction():
        connection.execute("SET LOCAL synchronous_commit = local")  # what is asked for outlives the server
        # One position for all: else some could be met, and published, before the others.
        target = one(connection, "SELECT pg_current_wal_insert_lsn()::text")
        asked = [
            connection.execute(
                "INSERT INTO gavial.runs (query_id, kind, target) "
                "SELECT id, %s, %s::pg_lsn FROM gavial.queries "
                "WHERE result = to_regclass(%s) RETURNING id",
                (kind, target, name),
            ).fetchone()
            for name in names
        ]
        connection.execute("NOTIFY gavial")
    connection.execute("SELECT pg_logical_emit_message(true, 'gavial', '')")
    assert None not in asked, f"no such query among {names}"
    return [str(row[0]) for row in asked if row is not None]


def ended(connection: psycopg.Connection, run: str, seconds: float = ANSWER_SECONDS) -> Ended:
    """How a run ends."""
    found = "SELECT state, position::text, sqlstate, message FROM gavial.runs WHERE id = %s"
    deadline = time.monotonic() + seconds
    while True:
        row = connection.execute(found, (run,)).fetchone()
        assert row is not None, "the run is gone"
        if row[0] in ("done", "failed"):
            return Ended(*row)
        assert time.monotonic() < deadline, f"still waiting after {seconds} seconds: {_stand(connection)}"
        time.sleep(0.02)


def refresh(connection: psycopg.Connection, *names: str) -> None:
    """Bring answers up to date; all of them can be."""
    for run in ask(connection, "refresh", *names):
        how = ended(connection, run)
        assert how.state == "done", how


def refused_refresh(connection: psycopg.Connection, name: str) -> Ended:
    """Bring an answer up to date, which must fail."""
    [run] = ask(connection, "refresh", name)
    how = ended(connection, run)
    assert how.state == "failed", how
    return how


def differences(connection: psycopg.Connection, *names: str) -> list[tuple[str, str, str, int]]:
    """Where answers differ from what PostgreSQL answers: query, side, row, how many."""
    found = []
    for name, run in zip(names, ask(connection, "verify", *names), strict=True):
        how = ended(connection, run)
        assert how.state == "done", (name, how)
        rows = connection.execute(
            "SELECT side, row_text, rows FROM gavial.differences WHERE run_id = %s", (run,)
        )
        found += [(name, *row) for row in rows]
    return found


def check(connection: psycopg.Connection, *names: str) -> None:
    """The answers, brought up to date, are PostgreSQL's: by VERIFY, and row by row."""
    refresh(connection, *names)
    found = differences(connection, *names)
    assert not found, found
    for name in names:
        assert not (rows := unlike(connection, name)), (name, rows)


def unlike(connection: psycopg.Connection, name: str) -> list[tuple[str, str]]:
    """Where an answer differs from what its SELECT gives now, by the text of the rows."""
    view = one(connection, "SELECT view::text FROM gavial.queries WHERE result = to_regclass(%s)", name)
    sides = f"(SELECT (v.*)::text FROM {view} v)", f"(SELECT (q.*)::text FROM {name} q)"
    question = f"SELECT 'missing', * FROM ({sides[0]} EXCEPT ALL {sides[1]}) d (r) UNION ALL "
    question += f"SELECT 'superfluous', * FROM ({sides[1]} EXCEPT ALL {sides[0]}) d (r)"
    return connection.execute(question.encode()).fetchall()


def wait_until_answered(connection: psycopg.Connection, names: Iterable[str]) -> None:
    """Return when all these queries have their first answer."""
    for name in names:
        wait_until(
            lambda name=name: status_of(connection, name)[0] == "active",  # type: ignore[misc]
            f"{name} is not answered",
            ANSWER_SECONDS,
        )


def make(connection: psycopg.Connection, name: str, query: str, options: str = "") -> None:
    """A standing query with its first answer."""
    connection.execute(f"CREATE STANDING QUERY {name} {options} AS {query} WITH NO DATA".encode())
    wait_until_answered(connection, [name])


def status_of(connection: psycopg.Connection, name: str) -> tuple[str, str | None, str | None]:
    """Status, its SQLSTATE and its words."""
    row = connection.execute(
        "SELECT status, status_sqlstate, status_detail FROM gavial.queries WHERE result = to_regclass(%s)",
        (name,),
    ).fetchone()
    assert row is not None, f"no query {name}"
    return row[0], row[1], row[2]


def node_files(data: Path) -> list[Path]:
    """The files of what queries have computed, in all warehouses of a data directory."""
    return sorted((data / "warehouse").glob("*/node-*/*"))


@contextmanager
def answered(upstream: Server | None = None, *arguments: str) -> Iterator[Gavial]:
    """`gavial serve` that answers standing queries."""
    with gavial(*arguments, upstream=upstream) as running:
        yield running


def _stand(connection: psycopg.Connection) -> list[tuple[object, ...]]:
    return connection.execute("SELECT name, status, status_detail FROM gavial.standing_queries").fetchall()


def stray_files(connection: psycopg.Connection, warehouse: Path) -> set[str]:
    """Files that the manifest does not name, and names of no file; a warehouse of one database."""
    # Files that were merged go once something more has been captured.
    connection.execute("SELECT pg_logical_emit_message(true, 'gavial', '')")
    found = {"/".join(file.parts[-2:]) for file in warehouse.glob("*/*-*/*.parquet*")}
    return found ^ {file for (file,) in connection.execute("SELECT file FROM gavial.batches")}


def wait_until_nothing_is_stray(connection: psycopg.Connection, warehouse: Path) -> None:
    """Every file of the warehouse is named, and every name has its file."""
    wait_until(
        lambda: not stray_files(connection, warehouse), "files that no manifest names, or names of no file"
    )
