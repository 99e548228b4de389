"""What the proxy costs, beside a direct connection and PgBouncer."""

from __future__ import annotations

import resource
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import psycopg

from benchmarks.chart import draw
from benchmarks.loads import fill
from benchmarks.measure import Reading, Verdict, judge
from benchmarks.programs import FailedProgram, MissingProgram
from benchmarks.proxy_questions import QUESTIONS, Experiment
from benchmarks.report import ROOT, header, table, verdict_line, write_json
from benchmarks.ways import DIRECT, Ground, WrongLegs
from catalog.errors import ConfigurationError
from tests.servers import make_certificate, postgres

MOST_CLIENTS = 32
SPARE_CONNECTIONS = 100
SERVER_SETTINGS = {
    "shared_buffers": "1GB",
    "max_wal_size": "8GB",
    "checkpoint_timeout": "1h",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
}


@click.command()
@click.option("--scale", default=20, show_default=True, help="pgbench's scale; 100,000 rows each.")
@click.option("--turns", default=5, show_default=True, help="How often every way is measured in every case.")
@click.option("--seconds", default=4, show_default=True, help="Length of one run of pgbench.")
@click.option("--idle", default=500, show_default=True, help="How many idle connections.")
@click.option("--seed", default=1, show_default=True, help="Seed of pgbench's random keys.")
@click.option("--postgres", "major", default=15, show_default=True, help="Major version of the server.")
@click.option(
    "--out",
    default=ROOT / "benchmarks" / "out",
    show_default="benchmarks/out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory for proxy.json and proxy.png.",
)
@click.option(
    "--only",
    multiple=True,
    type=click.Choice(tuple(QUESTIONS)),
    help="Ask this question alone; may be repeated.",
)
def main(
    scale: int, turns: int, seconds: int, idle: int, seed: int, major: int, out: Path, only: tuple[str, ...]
) -> None:
    """Measure what a connection through Gavial costs, in turns with a direct one and with PgBouncer."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    allow_many_files()
    names = tuple(dict.fromkeys(only)) or tuple(QUESTIONS)
    settings = {"PostgreSQL": major, "scale": scale, "turns": turns, "seconds": seconds, "idle": idle}
    top = header(seed, {name: str(value) for name, value in settings.items()})
    click.echo(top.line())
    readings: list[Reading] = []
    verdicts: list[Verdict] = []
    try:
        with prepared(scale, turns, seconds, idle, seed, major, tls="tls" in names) as experiment:
            for name in names:
                click.echo(f"measuring {name} ...", err=True)
                question = QUESTIONS[name]
                answer = question.ask(experiment)
                readings += answer
                click.echo(f"\n{name}\n{table(answer, question.figures, DIRECT)}")
                judged = [judge(target, answer) for target in question.targets]
                verdicts += judged
                for verdict in judged:
                    click.echo(verdict_line(verdict))
    except ConfigurationError as error:
        raise click.ClickException(" ".join(filter(None, (error.message, error.detail)))) from error
    except (MissingProgram, FailedProgram, WrongLegs, psycopg.OperationalError) as error:
        raise click.ClickException(str(error)) from error
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / "proxy.json", top, readings, verdicts)
    panels = [panel for question in QUESTIONS.values() for panel in question.panels]
    draw(out / "proxy.png", "What the proxy costs", top.line(), panels, readings)
    click.echo(
        f"\n{sum(not verdict.met for verdict in verdicts)} of {len(verdicts)} targets missed; see {out}"
    )


@contextmanager
def prepared(
    scale: int, turns: int, seconds: int, idle: int, seed: int, major: int, *, tls: bool
) -> Iterator[Experiment]:
    """The server with pgbench's tables, and what the questions need to know; not every build has TLS."""
    connections = max(idle, MOST_CLIENTS) + SPARE_CONNECTIONS
    settings = SERVER_SETTINGS | {"max_connections": str(connections)}
    with tempfile.TemporaryDirectory(prefix="benchmark-proxy-") as directory:
        certificate = make_certificate(Path(directory))
        with postgres(major, settings=settings, tls=certificate if tls else None) as server:
            ground = Ground(server, connections)
            fill(ground.address(), scale)
            yield Experiment(ground, certificate, scale, turns, seconds, idle, seed, Path(directory))


def allow_many_files() -> None:
    """Raise the limit on open files as far as it goes; the programs started from here inherit it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


if __name__ == "__main__":
    main()
