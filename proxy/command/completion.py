"""`gavial completion`: what makes a shell complete commands, options and names of queries."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command("completion")
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def command(shell: str) -> None:
    """Print the completion script of a shell, to be read at its start: source <(gavial completion bash)."""
    written_for = get_completion_class(shell)
    assert written_for is not None
    root = click.get_current_context().find_root().command
    click.echo(written_for(root, {}, "gavial", "_GAVIAL_COMPLETE").source())
