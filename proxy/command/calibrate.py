"""`gavial calibrate`: the cost model learns what work takes on this machine, from queries made for that."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Final, LiteralString

import click
from psycopg import Connection
from psycopg.sql import SQL
from rich.table import Table

from catalog.errors import ConfigurationError
from catalog.queries.calibration import (
    Accuracy,
    EngineWeights,
    accuracy_since,
    engine_weights,
    server_time,
)
from catalog.rows import value_of
from proxy.command.options.server import Server, asking_server
from proxy.command.output.progress import counted, working
from proxy.command.output.table import show, table_of
from proxy.command.output.values import print_json, seconds_text

_SCHEMA: Final = "gavial_calibration"
_MARK: Final = "made by gavial calibrate, which drops it"
_SIZES: Final = (10, 1000, 100, 10_000, 1, 5000)
"""Rows that a batch changes: few and many by turns, so that neither kind is measured warm alone."""
_ROUNDS: Final = 2
_PATIENCE_SECONDS: Final = 40.0
_PAUSE_SECONDS: Final = 2.0

_QUERIES: Final[Mapping[str, LiteralString]] = {
    "by_kind": "SELECT kind, count(*) AS sales, sum(amount) AS amount, max(day) AS latest "
    "FROM sales GROUP BY kind",
    "by_region": "SELECT region, day, sum(amount) AS amount "
    "FROM sales JOIN shops USING (shop) GROUP BY region, day",
    "large": "SELECT sale, shop, amount * 2 AS twice FROM sales WHERE amount > 900",
    "idle": "SELECT region, count(*) AS shops FROM shops s WHERE NOT EXISTS "
    "(SELECT FROM sales WHERE sales.shop = s.shop AND kind = 3) GROUP BY region",
}


@dataclass(frozen=True, slots=True)
class Calibration:
    """How well runs were predicted before and after, and what is known of the engines now."""

    before: tuple[Accuracy, ...]
    after: tuple[Accuracy, ...]
    is_fitted: bool
    engines: tuple[EngineWeights, ...]


@click.command("calibrate")
@asking_server
@click.option(
    "--rows",
    type=click.IntRange(10_000),
    default=100_000,
    show_default=True,
    help="Rows of the largest table.",
)
def command(server: Server, as_json: bool, rows: int) -> None:
    """Teach the cost model what work takes here, by queries over tables that are made and dropped again.

    Everything is in a schema gavial_calibration, which is there only meanwhile. It takes a minute or two.
    What is learned serves all standing queries of the database.
    """
    with server.connected(quiet=True) as connection, _own_schema(connection):
        calibration = calibrate(connection, rows)
    if as_json:
        print_json(calibration)
        return
    show(calibration_table(calibration))
    if not calibration.is_fitted:
        show("", "The coordinator has not fitted its weights yet; it will with its next choice of paces.")


def calibrate(connection: Connection, rows: int) -> Calibration:
    """Run the queries on few and many changes, have the weights fitted, and run them again."""
    with working("loading tables"):
        _load(connection, rows)
    for name, text in _QUERIES.items():
        with working(f"computing {name}"):
            connection.execute(SQL("CREATE STANDING QUERY {} AS {}").format(SQL(name), SQL(text)))
    began = server_time(connection)
    _run(connection, "measuring", _ROUNDS)
    before = accuracy_since(connection, _SCHEMA, began)
    is_fitted = _wait_until_fitted(connection, server_time(connection))
    began = server_time(connection)
    _run(connection, "measuring again", 1)
    after = accuracy_since(connection, _SCHEMA, began)
    return Calibration(before, after, is_fitted, engine_weights(connection))


def calibration_table(calibration: Calibration) -> Table:
    """A line for each engine: how many times what was predicted its parts took, before and after."""
    after = {accuracy.engine: accuracy for accuracy in calibration.after}
    rows = [
        (
            accuracy.engine,
            accuracy.parts,
            seconds_text(accuracy.work),
            seconds_text(accuracy.predicted_work),
            accuracy.ratio,
            after[accuracy.engine].ratio if accuracy.engine in after else None,
        )
        for accuracy in calibration.before
    ]
    columns = ("engine", "parts", "took", "predicted", "took/predicted before", "and now")
    return table_of(columns, rows, columns[1:])


@contextmanager
def _own_schema(connection: Connection) -> Iterator[None]:
    """A schema for what is made, dropped at the end; one that a run left that was broken off goes first."""
    mark = value_of(connection, "SELECT obj_description(to_regnamespace(%s), 'pg_namespace')", (_SCHEMA,))
    if mark == _MARK:
        _drop(connection)
    elif value_of(connection, "SELECT to_regnamespace(%s)", (_SCHEMA,)) is not None:
        raise ConfigurationError(
            f"there is a schema {_SCHEMA} that gavial calibrate did not make", hint="Rename it."
        )
    with connection.transaction():
        connection.execute("CREATE SCHEMA gavial_calibration")
        connection.execute(SQL("COMMENT ON SCHEMA gavial_calibration IS {}").format(_MARK))
    connection.execute("SET search_path = gavial_calibration")
    try:
        yield
    finally:
        with working("dropping what was made"):
            _drop(connection)


def _drop(connection: Connection) -> None:
    connection.execute("DROP SCHEMA IF EXISTS gavial_calibration CASCADE")


def _load(connection: Connection, rows: int) -> None:
    with connection.transaction():
        connection.execute("CREATE TABLE shops (shop int PRIMARY KEY, region text NOT NULL)")
        connection.execute(
            "CREATE TABLE sales (sale bigint PRIMARY KEY, shop int NOT NULL, kind int NOT NULL, "
            "day date NOT NULL, amount numeric(12, 2) NOT NULL)"
        )
        connection.execute("INSERT INTO shops SELECT n, 'region ' || n % 20 FROM generate_series(1, 1000) n")
        _sell(connection, 1, rows)
    connection.execute("ANALYZE shops, sales")


def _sell(connection: Connection, first: int, last: int) -> None:
    connection.execute(
        "INSERT INTO sales SELECT n, n * 7919 %% 1000 + 1, n * 31 %% 12, "
        "date '2025-01-01' + (n %% 300)::int, (n * 104729 %% 100000) / 100.0 "
        "FROM generate_series(%s::bigint, %s::bigint) n",
        (first, last),
    )


def _run(connection: Connection, what: str, rounds: int) -> None:
    """Change so many rows, and bring all results up to date, for each size and round."""
    names = SQL(", ").join(map(SQL, _QUERIES))
    with counted(what) as report:
        for number, size in enumerate(_SIZES * rounds):
            report(number, len(_SIZES) * rounds)
            with connection.transaction():
                last = value_of(connection, "SELECT max(sale) FROM sales")
                _sell(connection, last + 1, last + size)
                connection.execute("UPDATE sales SET amount = amount + 1 WHERE sale <= %s", (size // 4,))
                connection.execute("DELETE FROM sales WHERE sale > %s", (last + size - size // 10,))
            connection.execute(SQL("REFRESH STANDING QUERY {}").format(names))


def _wait_until_fitted(connection: Connection, since: datetime) -> bool:
    """Whether the coordinator fits its weights soon: it does with the choices of paces behind refreshes."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    with working("waiting until the weights are fitted"):
        while time.monotonic() < deadline:
            if any(engine.fitted > since for engine in engine_weights(connection)):
                return True
            time.sleep(_PAUSE_SECONDS)
            connection.execute("REFRESH STANDING QUERY by_kind")
    return False
