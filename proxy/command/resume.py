"""`gavial resume`: ALTER STANDING QUERY … RESUME."""

from __future__ import annotations

import click

from proxy.command.options.names import NAMES
from proxy.command.options.server import Server, asking_server
from proxy.command.options.statements import perform_for_each


@click.command("resume")
@asking_server
@NAMES
def command(server: Server, as_json: bool, names: tuple[str, ...]) -> None:
    """Compute suspended standing queries again."""
    perform_for_each(server, "ALTER STANDING QUERY {} RESUME", names, "resuming", as_json=as_json)
