"""`gavial top`: what is going on, live."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TypeAlias

import click
import psycopg
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from catalog.queries.overview import (
    RecentWork,
    ServerOverview,
    UnderWay,
    recent_work,
    server_overview,
    under_way,
)
from proxy.command.options.server import Server, asking_server
from proxy.command.output.table import properties_of, show, table_of
from proxy.command.output.values import duration_text, print_json, seconds_text
from proxy.command.status import status_properties

Look: TypeAlias = tuple[ServerOverview, tuple[UnderWay, ...], tuple[RecentWork, ...]]

_SHOWN = ("Capture", "WAL kept", "Queries")


@click.command("top")
@asking_server
@click.option(
    "--interval", type=click.FloatRange(0.2), default=2.0, show_default=True, help="Seconds between looks."
)
@click.option("--count", type=click.IntRange(1), help="Look so often; once where the output is no terminal.")
def command(server: Server, as_json: bool, interval: float, count: int | None) -> None:
    """Show what is computed now, what waits, and which queries took most in the last hour; Ctrl-C ends it."""
    live = sys.stdout.isatty() and not as_json
    looks = count or (None if live else 1)
    with server.connected() as connection:
        if not live:
            _print(connection, looks or 1, interval, as_json=as_json)
            return
        with Live(page(*look(connection)), console=Console(highlight=False), screen=count is None) as shown:
            while looks is None or (looks := looks - 1):
                time.sleep(interval)
                shown.update(page(*look(connection)))


def look(
    connection: psycopg.Connection,
) -> tuple[ServerOverview, tuple[UnderWay, ...], tuple[RecentWork, ...]]:
    """One look at everything."""
    return server_overview(connection), under_way(connection), recent_work(connection)


def page(overview: ServerOverview, runs: Sequence[UnderWay], recent: Sequence[RecentWork]) -> Group:
    """What one look found, on one page."""
    properties = status_properties(overview)
    running = table_of(
        ("now", "query", "for", "progress"),
        [(run.kind, run.query, duration_text(overview.clock - run.began), run.progress) for run in runs],
        ("for",),
    )
    worked = table_of(
        ("last hour", "runs", "rows", "work", "last run", "engine"),
        [
            (
                work.query,
                work.runs,
                work.rows,
                seconds_text(work.work),
                seconds_text(work.last_seconds),
                work.engines,
            )
            for work in recent
        ],
        ("runs", "rows", "work", "last run"),
    )
    head = properties_of({name: properties[name] for name in _SHOWN})
    nothing = Text("nothing is computed, and nobody waits", style="dim")
    return Group(head, Text(), running if runs else nothing, Text(), worked)


def _print(connection: psycopg.Connection, looks: int, interval: float, *, as_json: bool) -> None:
    for number in range(looks):
        if number:
            time.sleep(interval)
        overview, runs, recent = look(connection)
        if as_json:
            print_json({"server": overview, "under_way": runs, "last_hour": recent})
        else:
            show(page(overview, runs, recent))
