"""The `gavial` command: its commands by name, and how what goes wrong is told."""

from __future__ import annotations

import importlib
import sys
from typing import Final

import click
import psycopg

from catalog.errors import Error
from catalog.version import VERSION
from proxy.command.output.errors import StatementFailed, error_text, failure_text

THEMES: Final = {
    "Start and connect": ("serve", "url", "psql", "demo"),
    "See": ("status", "queries", "show", "plan", "curve", "history", "states", "top"),
    "Act": ("refresh", "suspend", "resume", "verify"),
    "Operate": ("install", "doctor", "calibrate", "warehouse", "completion"),
}
"""Every command, in the module of its name, by what it is for."""

_SHORT: Final = 70
_INTERRUPTED: Final = 130


class Commands(click.Group):
    """Commands that are imported when they are asked for: `url` does not wait for what `serve` needs."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """All names, by their themes."""
        return [name for names in THEMES.values() for name in names]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name, from the module of that name."""
        if cmd_name not in self.list_commands(ctx):
            return None
        command = importlib.import_module(f"proxy.command.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands with a line for each, by their themes."""
        for theme, names in THEMES.items():
            commands = [(name, self.get_command(ctx, name)) for name in names]
            with formatter.section(theme):
                formatter.write_dl(
                    [(name, command.get_short_help_str(70)) for name, command in commands if command]
                )


@click.group(cls=Commands)
@click.version_option(VERSION, prog_name="gavial")
def gavial() -> None:
    """PostgreSQL, plus standing queries that pace themselves."""


def main() -> None:
    """Run the command; what the user can mend is said as PostgreSQL says it, without a traceback."""
    try:
        gavial(prog_name="gavial")
    except Error as error:
        click.echo(failure_text(error), err=True)
        sys.exit(1)
    except StatementFailed as failure:
        click.echo(error_text(failure.told, failure.text, failure.position), err=True)
        sys.exit(1)
    except psycopg.Error as error:
        click.echo(error_text(error), err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()  # `gavial plan q | head`: nobody reads what is left
        sys.exit(1)
