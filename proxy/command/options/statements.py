"""Statements of ours, for the queries that a command line names."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import LiteralString

from psycopg.sql import SQL

from catalog.queries.overview import quoted_name
from proxy.command.options.server import Server
from proxy.command.output.progress import working
from proxy.command.output.table import show
from proxy.command.output.values import print_json, seconds_text


def perform_for_all(
    server: Server, statement: LiteralString, names: Sequence[str], doing: str, *, as_json: bool
) -> None:
    """One statement for all queries; what it said, and how long it took."""
    with server.connected() as connection:
        identifiers = SQL(", ").join([quoted_name(connection, name) for name in names])
        began = time.monotonic()
        with working(f"{doing} {', '.join(names)}"):
            tag = connection.execute(SQL(statement).format(identifiers)).statusmessage
    _tell([{"names": list(names), "tag": tag, "seconds": time.monotonic() - began}], as_json=as_json)


def perform_for_each(
    server: Server, statement: LiteralString, names: Sequence[str], doing: str, *, as_json: bool
) -> None:
    """A statement for each query, in one transaction: all of them, or none."""
    performed: list[Mapping[str, object]] = []
    with server.connected() as connection, connection.transaction():
        for name in names:
            began = time.monotonic()
            with working(f"{doing} {name}"):
                tag = connection.execute(SQL(statement).format(quoted_name(connection, name))).statusmessage
            performed.append({"names": [name], "tag": tag, "seconds": time.monotonic() - began})
    _tell(performed, as_json=as_json)


def _tell(performed: Sequence[Mapping[str, object]], *, as_json: bool) -> None:
    if as_json:
        print_json(performed)
        return
    for statement in performed:
        seconds = statement["seconds"]
        assert isinstance(seconds, float)
        show(f"{statement['tag']} ({seconds_text(seconds)})")
