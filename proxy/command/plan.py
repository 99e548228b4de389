"""`gavial plan`: how a query is understood and computed, without creating anything."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from proxy.command.options.query import explained_text, explained_values, looked_at
from proxy.command.options.server import Server, asking_server
from proxy.command.output.files import deliver
from proxy.command.output.graph import svg_of_dot
from proxy.command.output.values import json_text


@click.command("plan")
@asking_server
@looked_at
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "json", "dot", "svg")),
    default="text",
    show_default=True,
    help="json: the same as --json; dot and svg: the parts as a graph.",
)
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write into this file.")
@click.option("--brief", is_flag=True, help="Leave out what the phases of planning made of it.")
def command(
    server: Server,
    as_json: bool,
    query: str,
    settings: Mapping[str, str],
    form: str,
    output: Path | None,
    brief: bool,
) -> None:
    """Show how a query is understood and computed: plans, parts with paces and engines, look-ups, costs.

    Of a standing query by its NAME, or of a FILE.sql with a SELECT or CREATE STANDING QUERY (- is standard
    input). Nothing is created.
    """
    form = "json" if as_json else form
    options = ["CURVE", "STATE"] if brief else ["CURVE", "STATE", "VERBOSE"]
    with server.connected() as connection:
        match form:
            case "text":
                deliver(explained_text(connection, query, settings, options), output)
            case "json":
                values = explained_values(connection, query, settings, options)
                deliver(json_text(values), output)
            case _:
                dot = explained_text(connection, query, settings, ["CURVE", "FORMAT DOT"])
                deliver(dot if form == "dot" else svg_of_dot(dot), output)
