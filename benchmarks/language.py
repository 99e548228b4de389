"""What the language costs: to traffic that is not ours, and to PostgreSQL's own work in a CREATE."""

from __future__ import annotations

import asyncio
import platform
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import click
import psycopg

from benchmarks.support.chart import Panel, draw
from benchmarks.support.measure import Figures, Reading, Target, judge, take_turns
from benchmarks.support.report import ROOT, header, table, verdict_line, write_json
from catalog.postgres.schema import Tables
from catalog.postgres.signatures import Signatures
from catalog.postgres.signatures_reader import read_signatures
from dialect.binding.bind import bind
from proxy.wire.frames import ClientFrames, may_be_ours
from proxy.wire.messages import message
from proxy.wire.states import SessionState
from tests.support.binding.relations import read_canonical_text, read_table
from tests.support.running.servers import gavial, postgres

QUERIES = ROOT / "tests" / "dialect" / "bind" / "tpch"
SCHEMA = ROOT / "proxy/command/demonstration/tpch.sql"
NAMES = ("region", "nation", "part", "supplier", "partsupp", "customer", "orders", "lineitem")
PATH = "-c search_path=tpch"

RECOGNITION = "us a statement"
CREATION = "CREATE ms"
BINDING = "bind ms"
ADDED = "added ms"
REPEATS = 20_000
SUBJECTS = {
    "1 kB": "SELECT " + ", ".join(f"column_{number} AS c{number}" for number in range(50)) + " FROM t",
    "56 B": "SELECT abalance FROM pgbench_accounts WHERE aid = 83127;",
}
ALONE, OURS = "PostgreSQL's part", "gavial"
CREATE = "CREATE, TPC-H"
TARGETS = (
    Target("1 kB", RECOGNITION, "search for our words", None, "at most", 2.0),
    Target(CREATE, ADDED, OURS, None, "at most", 50.0),
)
PANELS = (
    Panel("Statements that are not ours", RECOGNITION, tuple(SUBJECTS)),
    Panel("CREATE STANDING QUERY, median of TPC-H", CREATION, (CREATE,)),
)


@click.command()
@click.option("--turns", default=5, show_default=True, help="How often everything is measured.")
@click.option("--postgres", "major", default=15, show_default=True, help="Major version of the server.")
@click.option(
    "--out",
    default=ROOT / "benchmarks" / "out",
    show_default="benchmarks/out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory for language.json and language.png.",
)
def main(turns: int, major: int, out: Path) -> None:
    """Measure how soon ordinary statements pass, and what CREATE STANDING QUERY adds to PostgreSQL's work."""
    top = header({"Python": platform.python_version(), "postgres": major, "turns": turns})
    click.echo(top.line())
    readings = [*recognition(turns), *creation(turns, major)]
    verdicts = [judge(target, readings) for target in TARGETS]
    click.echo(table(readings, (RECOGNITION, CREATION, BINDING, ADDED), ALONE))
    click.echo("\n".join(map(verdict_line, verdicts)))
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / "language.json", top, readings, verdicts)
    draw(out / "language.png", "What the language costs", top.line(), PANELS, readings)


def recognition(turns: int) -> list[Reading]:
    """The search itself, and the whole walk of which it is a part."""
    readings: list[Reading] = []
    for case, text in SUBJECTS.items():
        body = text.encode()
        frame = message(b"Q", body + b"\0")
        frames = ClientFrames(SessionState(), intercepting=True)
        ways = {
            "search for our words": repeated(may_be_ours, body),
            "walk of the message": repeated(frames.receive, frame),
        }
        readings += take_turns(case, ways, turns)
    return readings


def repeated(call: Callable[[bytes], object], argument: bytes) -> Callable[[int], Figures]:
    """How long one call takes, over many."""

    def measure(_turn: int) -> Figures:
        started = time.perf_counter()
        for _ in range(REPEATS):
            call(argument)
        return {RECOGNITION: (time.perf_counter() - started) / REPEATS * 1e6}

    return measure


def creation(turns: int, major: int) -> tuple[Reading, ...]:
    """All TPC-H queries made and unmade, by PostgreSQL alone and as standing queries; medians over them."""
    texts = [path.read_text().rstrip().rstrip(";") for path in sorted(QUERIES.glob("q*.sql"))]
    with postgres(major) as server, gavial(upstream=server) as proxy:
        with psycopg.connect(server.dsn(), autocommit=True) as direct:
            direct.execute(SCHEMA.read_bytes())
        options = {"options": PATH, "application_name": "benchmark"}
        with (
            psycopg.connect(server.dsn(**options), autocommit=True) as direct,
            psycopg.connect(proxy.dsn(**options), autocommit=True) as ours,
        ):
            signatures, tables = asyncio.run(snapshot(server.dsn(**options)))
            alone: dict[int, float] = {}

            def measure_alone(turn: int) -> Figures:
                alone[turn] = median(milliseconds(make, direct, text) for text in texts)
                return {CREATION: alone[turn]}

            def measure_ours(turn: int) -> Figures:
                created = median(milliseconds(stand, ours, text) for text in texts)
                binding = asyncio.run(bind_all(server.dsn(**options), texts, signatures, tables))
                return {CREATION: created, BINDING: binding, ADDED: created - alone[turn]}

            return take_turns(CREATE, {ALONE: measure_alone, OURS: measure_ours}, turns)


def make(connection: psycopg.Connection, text: str) -> None:
    """What PostgreSQL itself has to do for a standing query."""
    with connection.transaction(force_rollback=True):
        connection.execute(f"CREATE VIEW made AS {text}".encode())
        connection.execute("CREATE TABLE answer AS SELECT * FROM made WITH NO DATA")


def stand(connection: psycopg.Connection, text: str) -> None:
    """The same as a statement of ours."""
    with connection.transaction(force_rollback=True):
        connection.execute(f"CREATE STANDING QUERY answer WITH (FINAL_WORK = 0.05) AS {text}".encode())


def milliseconds(work: Callable[..., object], *arguments: object) -> float:
    """How long a call takes."""
    started = time.perf_counter()
    work(*arguments)
    return (time.perf_counter() - started) * 1e3


async def snapshot(dsn: str) -> tuple[Signatures, Tables]:
    """What binding needs to know of the server."""
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
        tables = [await read_table(connection, f"tpch.{name}") for name in NAMES]
        return await read_signatures(connection), {table.name: table for table in tables}


async def bind_all(dsn: str, texts: list[str], signatures: Signatures, tables: Tables) -> float:
    """Milliseconds to bind one query, the median of all; the canonical texts are read before."""
    times = []
    async with await psycopg.AsyncConnection.connect(dsn) as connection:
        for text in texts:
            await connection.execute(f"CREATE VIEW tpch.bound AS {text}".encode())
            canonical = await read_canonical_text(connection, "tpch.bound")
            view = await read_table(connection, "tpch.bound")
            times.append(milliseconds(bind, canonical, tables, signatures, view.columns))
            await connection.rollback()
    return median(times)


if __name__ == "__main__":
    main()
