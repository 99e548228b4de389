"""`gavial refresh`: REFRESH STANDING QUERY."""

from __future__ import annotations

import click

from proxy.command.options.names import NAMES
from proxy.command.options.server import Server, asking_server
from proxy.command.options.statements import perform_for_all


@click.command("refresh")
@asking_server
@NAMES
def command(server: Server, as_json: bool, names: tuple[str, ...]) -> None:
    """Bring results up to date, and return when they are: all at one position."""
    perform_for_all(server, "REFRESH STANDING QUERY {}", names, "refreshing", as_json=as_json)
