"""Standing queries as a command line names them."""

from __future__ import annotations

from typing import Final

import click
import psycopg

from catalog.errors import Error
from catalog.queries.overview import queries
from proxy.command.options.server import DEFAULT_DATA, Server

_KEPT: Final = 200
"""More names than that help nobody at a prompt."""


def complete_names(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """The names that begin so, where a server answers; none where none does."""
    named = ctx.params
    server = Server(named.get("data") or DEFAULT_DATA, named.get("url"), named.get("database"))
    try:
        with server.connected() as connection:
            names = [f"{query.schema}.{query.name}" for query in queries(connection)]
    except (Error, psycopg.Error):
        return []
    short = [name.partition(".")[2] for name in names]
    return [name for name in [*names, *short] if name.startswith(incomplete)][:_KEPT]


NAME: Final = click.argument("name", shell_complete=complete_names)
NAMES: Final = click.argument(
    "names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete_names
)
