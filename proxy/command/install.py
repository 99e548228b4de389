"""`gavial install`: a database of a PostgreSQL is prepared, and what the server still lacks is told."""

from __future__ import annotations

import asyncio

import click

from catalog.install import installer
from proxy.command.checks.upstream import connection_to, facts_of_role
from proxy.command.options.server import AS_JSON
from proxy.command.output.progress import working
from proxy.command.output.values import print_json
from sources.server.prerequisites import Lack, lack_text, lacks


@click.command("install")
@click.option(
    "--upstream", metavar="DSN", required=True, help="A superuser's login in the database to prepare."
)
@click.option(
    "--login", metavar="ROLE", help="Login of --upstream of `gavial serve`, where it is no superuser's."
)
@click.option("--allow-verifier", metavar="ROLE", help="The same, to check passwords: see authentication.")
@AS_JSON
def command(upstream: str, login: str | None, allow_verifier: str | None, as_json: bool) -> None:
    """Prepare a database of a PostgreSQL that Gavial stands in front of, and say what the server lacks."""
    with working("preparing the database"):
        missing = asyncio.run(prepare(upstream, login, allow_verifier))
    if as_json:
        print_json({"lacks": [lack_text(lack) for lack in missing]})
        return
    for lack in missing:
        click.echo(f"gavial: {lack_text(lack)}", err=True)


async def prepare(address: str, login: str | None, verifying: str | None) -> tuple[Lack, ...]:
    """Install the schema `gavial`, grant what a login needs of it; what is missing after that."""
    async with connection_to(address) as connection:
        await facts_of_role(connection, login)
        if verifying is not None:
            await facts_of_role(connection, verifying)
        await installer.install(connection)
        if login is not None:
            await installer.allow_login(connection, login)
        if verifying is not None:
            await installer.allow_verifier(connection, verifying)
        return lacks(await facts_of_role(connection, login))
