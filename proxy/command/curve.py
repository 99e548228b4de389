"""`gavial curve`: which goals a query can meet, and what each costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import click

from catalog.errors import ConfigurationError
from proxy.command.options.query import explained_values, looked_at
from proxy.command.options.server import Server, asking_server
from proxy.command.output.chart import svg_of_curve
from proxy.command.output.curve import curve_of, curve_table
from proxy.command.output.files import deliver
from proxy.command.output.table import show, table_text
from proxy.command.output.values import json_text


@click.command("curve")
@asking_server
@looked_at
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "json", "svg")),
    default="text",
    show_default=True,
    help="json: the same as --json; svg: a picture.",
)
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write into this file.")
def command(
    server: Server, as_json: bool, query: str, settings: Mapping[str, str], form: str, output: Path | None
) -> None:
    """Show which goals a query can meet, and at what cost: final work against total work.

    Of a standing query by its NAME, or of a FILE.sql with a SELECT or CREATE STANDING QUERY (- is standard
    input). Nothing is created.
    """
    with server.connected() as connection:
        explained = explained_values(connection, query, settings, ["CURVE"])
    schedule = explained["schedule"]
    if schedule is None or "curve" not in schedule:
        raise ConfigurationError(
            "there is no curve: how many rows will arrive before the trigger fires is not known",
            hint="Say it, for example: --set 'EXPECT=orders 100000, lineitem 400000'",
        )
    curve = curve_of(schedule)
    match "json" if as_json else form:
        case "json":
            deliver(json_text({"name": explained["standing_query"], **asdict(curve)}), output)
        case "svg":
            deliver(svg_of_curve(query, curve), output)
        case _:
            table = curve_table(curve)
            if output is None:
                show(table)
            else:
                deliver(table_text(table), output)
