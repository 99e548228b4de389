"""`gavial url`: how to connect to what is served from a data directory."""

from __future__ import annotations

from pathlib import Path

import click

from proxy.command.options.server import AS_JSON, DATA, served_url
from proxy.command.output.values import print_json


@click.command("url")
@DATA
@AS_JSON
def command(data: Path, as_json: bool) -> None:
    """Print the URI to connect with, password included."""
    url = served_url(data)
    if as_json:
        print_json({"url": url})
    else:
        click.echo(url)
