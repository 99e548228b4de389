"""`gavial warehouse`: whether the files are what the manifest says, and which can go."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta

import click
import psycopg
from psycopg import Connection
from psycopg.conninfo import make_conninfo

from catalog.capture.installations import (
    closed_databases,
    databases,
    installation_at_work,
    installation_of,
)
from catalog.errors import ConfigurationError
from proxy.command.options.server import Server, asking_server
from proxy.command.options.types import Span
from proxy.command.output.progress import counted
from proxy.command.output.table import show, table_of
from proxy.command.output.values import bytes_text, print_json
from sources.warehouse.inventory import installations_in, left_over, remove_installation, take_inventory
from sources.warehouse.warehouse import Warehouse

_WAREHOUSE = click.option(
    "--warehouse", metavar="URI", show_default="that of the data directory", help="That of gavial serve."
)


def _looking_at_files(callback: Callable[..., None]) -> Callable[..., None]:
    return asking_server(_WAREHOUSE(callback))


@click.group("warehouse")
def command() -> None:
    """Look after the files of captured changes and of states, on the machine that has them."""


@command.command("check")
@_looking_at_files
@click.option("--quick", is_flag=True, help="Compare sizes alone, and do not read the files.")
def check_command(server: Server, as_json: bool, warehouse: str | None, quick: bool) -> None:
    """Compare the files with the manifests of all databases; the status is 1 if some are damaged."""
    uri = warehouse_of(server, warehouse)
    inventories = []
    known = set()
    for database, connection in _sessions(server):
        installation = installation_at_work(connection)
        if installation is None:
            continue
        known.add(installation)
        with counted(f"checking {database}") as looked:
            inventory = take_inventory(
                connection, Warehouse(f"{uri}/{installation}"), whole=not quick, looked=looked
            )
        inventories.append({"database": database, "installation": installation, **asdict(inventory)})
    unknown = {name: size for name, size in installations_in(uri).items() if name not in known}
    if as_json:
        print_json({"warehouse": uri, "databases": inventories, "unknown_installations": unknown})
    else:
        _tell(uri, inventories, unknown)
    if any(database["damaged"] for database in inventories):
        sys.exit(1)


@command.command("gc")
@_looking_at_files
@click.option(
    "--older-than",
    type=Span(3600),
    default="1 day",
    show_default=True,
    help="Only files that were written that long ago: a run may not have named newer ones yet.",
)
@click.option("--installation", metavar="ID", help="Remove all files of it; no database may have it.")
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and remove nothing.")
def gc_command(
    server: Server,
    as_json: bool,
    warehouse: str | None,
    older_than: timedelta,
    installation: str | None,
    dry_run: bool,
) -> None:
    """Remove files that no manifest names: those that processes left when they were killed."""
    uri = warehouse_of(server, warehouse)
    if installation is not None:
        removed = {installation: _unknown_size(server, uri, installation)}
        if not dry_run:
            remove_installation(uri, installation)
    else:
        removed = _remove_left_over(server, uri, datetime.now(UTC) - older_than, dry_run=dry_run)
    if as_json:
        print_json({"warehouse": uri, "removed": removed, "dry_run": dry_run})
        return
    for name, size in removed.items():
        show(f"{name}: {bytes_text(size)}")
    verb = "would be removed" if dry_run else "removed"
    show(f"{len(removed)} {verb}, {bytes_text(sum(removed.values()))} in all")


def warehouse_of(server: Server, given: str | None) -> str:
    """Where the files are."""
    if given is not None:
        return given
    if server.url is not None:
        raise ConfigurationError(
            "where the warehouse is cannot be seen from --url",
            hint="Name it with --warehouse, as for gavial serve.",
        )
    return str(server.data.absolute() / "warehouse")


def _remove_left_over(server: Server, uri: str, before: datetime, *, dry_run: bool) -> dict[str, int]:
    removed: dict[str, int] = {}
    for _database, connection in _sessions(server):
        installation = installation_at_work(connection)
        if installation is None:
            continue
        folder = Warehouse(f"{uri}/{installation}")
        garbage = left_over(connection, folder, before)
        if not dry_run:
            folder.remove(garbage)
        removed |= {f"{installation}/{file}": size for file, size in garbage.items()}
    return removed


def _unknown_size(server: Server, uri: str, installation: str) -> int:
    """The bytes of an installation that no database of the server has; an error where one may have it."""
    for database, connection in _sessions(server):
        if installation_of(connection) == installation:
            raise ConfigurationError(f'installation {installation} is that of database "{database}"')
        if closed := closed_databases(connection):
            raise ConfigurationError(
                f"nobody can say whether a database has installation {installation}",
                detail=f"These take no connections: {', '.join(closed)}.",
                hint="ALTER DATABASE … ALLOW_CONNECTIONS true, or drop them.",
            )
    sizes = installations_in(uri)
    if installation not in sizes:
        raise ConfigurationError(
            f"there is no installation {installation} in {uri}", hint="gavial warehouse check lists them."
        )
    return sizes[installation]


def _sessions(server: Server) -> Iterator[tuple[str, Connection]]:
    """A session with each database; none is prepared for Gavial by it."""
    address = server.address()
    with _session(address) as first:
        names = databases(first)
    for name in names:
        with _session(make_conninfo(address, dbname=name)) as connection:
            yield name, connection


@contextmanager
def _session(address: str) -> Iterator[Connection]:
    try:
        connection = psycopg.connect(address, autocommit=True, application_name="gavial-command")
    except psycopg.OperationalError as error:
        raise ConfigurationError(" ".join(str(error).split())) from None
    with connection:
        yield connection


def _tell(uri: str, inventories: list[dict[str, object]], unknown: dict[str, int]) -> None:
    columns = ("database", "installation", "files", "size", "not named", "damaged")
    rows = []
    for database in inventories:
        size, unnamed, damaged = database["bytes"], database["unnamed"], database["damaged"]
        assert isinstance(size, int) and isinstance(unnamed, dict) and isinstance(damaged, tuple | list)
        rows.append(
            (
                database["database"],
                database["installation"],
                database["files"],
                bytes_text(size),
                f"{len(unnamed)}, {bytes_text(sum(unnamed.values()))}",
                len(damaged),
            )
        )
    show(f"Warehouse {uri}", table_of(columns, rows, columns[2:]))
    for database in inventories:
        damaged = database["damaged"]
        assert isinstance(damaged, tuple | list)
        for damage in damaged:
            show(f"damaged: {database['database']}: {damage['why']}")
    for name, size in unknown.items():
        show(f"installation {name}, {bytes_text(size)}, is of no database of this server")
