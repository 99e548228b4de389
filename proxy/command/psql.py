"""`gavial psql`: psql, connected."""

from __future__ import annotations

import os
import shutil

import click
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from catalog.errors import ConfigurationError
from coordinator.embedded.binaries import find_binaries
from proxy.command.options.server import Server, talking_to_server


@click.command("psql", context_settings={"ignore_unknown_options": True})
@talking_to_server
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[PSQL OPTIONS]...")
def command(server: Server, arguments: tuple[str, ...]) -> None:
    """Run psql, connected; what follows is psql's: gavial psql -c 'SHOW STANDING QUERIES'."""
    program = shutil.which("psql") or _provided()
    address = {key: str(value) for key, value in conninfo_to_dict(server.address()).items()}
    # In the environment, for everybody can read the arguments of a process.
    password = address.pop("password", None)
    if password is not None:
        os.environ["PGPASSWORD"] = str(password)
    os.execv(program, [program, "--dbname", make_conninfo(**address), *arguments])


def _provided() -> str:
    """The psql that comes with the server's programs."""
    program = find_binaries().program("psql")
    if not program.exists():
        raise ConfigurationError("psql is not on PATH", hint="Install PostgreSQL's client programs.")
    return str(program)
