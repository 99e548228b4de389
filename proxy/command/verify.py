"""`gavial verify`: VERIFY STANDING QUERY."""

from __future__ import annotations

import sys
import time

import click
from psycopg.sql import SQL, Identifier

from catalog.queries.overview import queries, quoted_name
from catalog.rows import rows_of
from proxy.command.options.names import complete_names
from proxy.command.options.server import Server, asking_server
from proxy.command.output.progress import working
from proxy.command.output.table import show, table_of
from proxy.command.output.values import print_json, seconds_text


@click.command("verify")
@asking_server
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=complete_names)
@click.option("--all", "every", is_flag=True, help="All queries of the database that have a result.")
@click.option(
    "--using",
    type=click.Choice(("postgres", "spark")),
    help="Compare with what PostgreSQL computes, or with a result from scratch; else what is quicker.",
)
def command(server: Server, as_json: bool, names: tuple[str, ...], every: bool, using: str | None) -> None:
    """Compare results with what the SELECT gives at their position; the status is 1 if they differ."""
    if every == bool(names):
        raise click.UsageError("name the queries to verify, or give --all")
    compared = []
    with server.connected() as connection:
        identifiers = {name: quoted_name(connection, name) for name in names}
        if every:
            identifiers = {
                f"{query.schema}.{query.name}": Identifier(query.schema, query.name)
                for query in queries(connection)
                if query.position is not None
            }
        how = SQL(f" USING {using.upper()}" if using else "")
        for name, identifier in identifiers.items():
            began = time.monotonic()
            statement = SQL("VERIFY STANDING QUERY {}{}").format(identifier, how)
            with working(f"verifying {name}"):
                differences: tuple[dict[str, object], ...] = rows_of(connection, dict, statement)
            seconds = time.monotonic() - began
            compared.append({"name": name, "differences": differences, "seconds": seconds})
            if not as_json:
                _tell(name, differences, seconds)
    if as_json:
        print_json(compared)
    if any(query["differences"] for query in compared):
        sys.exit(1)


def _tell(name: str, differences: tuple[dict[str, object], ...], seconds: float) -> None:
    if not differences:
        show(f"{name}: no row differs ({seconds_text(seconds)})")
        return
    show(f"{name}: {len(differences)} rows differ ({seconds_text(seconds)})")
    show(table_of(list(differences[0]), [list(row.values()) for row in differences]))
