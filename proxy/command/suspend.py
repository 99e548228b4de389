"""`gavial suspend`: ALTER STANDING QUERY … SUSPEND."""

from __future__ import annotations

import click

from proxy.command.options.names import NAMES
from proxy.command.options.server import Server, asking_server
from proxy.command.options.statements import perform_for_each


@click.command("suspend")
@asking_server
@NAMES
def command(server: Server, as_json: bool, names: tuple[str, ...]) -> None:
    """Stop computing standing queries, until they are resumed; their results stay as they are."""
    perform_for_each(server, "ALTER STANDING QUERY {} SUSPEND", names, "suspending", as_json=as_json)
