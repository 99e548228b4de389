"""`gavial demo`: TPC-H, three standing queries, and changes after which their results are verified."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import click
from psycopg import Connection
from psycopg.sql import SQL, Identifier
from rich.table import Table

from catalog.errors import InternalError
from catalog.queries.overview import queries
from catalog.rows import rows_of, value_of
from proxy.command.demonstration.queries import BATCHES, QUERIES
from proxy.command.demonstration.tables import load_tables, tables_found
from proxy.command.options.server import Server, asking_server
from proxy.command.output.progress import working
from proxy.command.output.table import show, table_of
from proxy.command.output.values import print_json, seconds_text, share_text


@dataclass(slots=True)
class Shown:
    """What a standing query took: its first result, then a refresh after each batch of changes."""

    name: str
    goal: float
    first_seconds: float
    refresh_seconds: list[float] = field(default_factory=list)
    rows: int = 0
    predicted_final_work: float | None = None
    measured_final_work: float | None = None


@click.command("demo")
@asking_server
@click.option(
    "--scale",
    type=click.FloatRange(0.01, 100),
    default=0.01,
    show_default=True,
    help="Scale factor of TPC-H, where its tables are not there yet.",
)
def command(server: Server, as_json: bool, scale: float) -> None:
    """Show that it works: load TPC-H into a schema tpch, make three standing queries, change, verify."""
    with server.connected(quiet=True) as connection:
        shown = demonstrate(connection, scale, reporting=not as_json)
    if as_json:
        print_json(shown)
    else:
        show(demonstration_table(shown))


def demonstrate(connection: Connection, scale: float, *, reporting: bool) -> list[Shown]:
    """Load, create, change, refresh and verify; what each query took."""

    def tell(text: str) -> None:
        if reporting:
            click.echo(f"demo: {text}")

    tables = tables_found(connection)
    if tables is None:
        with working("loading TPC-H"):
            began = time.monotonic()
            what = load_tables(connection, scale)
        tell(f"loaded {what} in {seconds_text(time.monotonic() - began)}")
    else:
        tell(f"found {tables}")
    connection.execute("SET search_path = tpch")
    shown = []
    for name in QUERIES:
        query = _created(connection, name)
        tell(f"{name}: {query.rows} rows")
        shown.append(query)
    for what, change in BATCHES.items():
        with working(what), connection.transaction():
            connection.execute(change.encode())
        for query in shown:
            query.refresh_seconds.append(_refreshed(connection, query.name))
        tell(f"{what}: {len(shown)} results include them")
    _look_at(connection, shown)
    for query in shown:
        _verify(connection, query.name)
    tell("every result is PostgreSQL's own, row by row")
    return shown


def demonstration_table(shown: list[Shown]) -> Table:
    """A line for each query: what it took, and what was left for its last trigger."""
    columns = ("query", "goal", "first result", *BATCHES, "rows", "predicted", "measured")
    rows = [
        (
            query.name,
            share_text(query.goal),
            seconds_text(query.first_seconds),
            *map(seconds_text, query.refresh_seconds),
            query.rows,
            share_text(query.predicted_final_work),
            share_text(query.measured_final_work),
        )
        for query in shown
    ]
    return table_of(columns, rows, columns[1:])


def _created(connection: Connection, name: str) -> Shown:
    goal, text = QUERIES[name]
    began = time.monotonic()
    statement = f"CREATE STANDING QUERY IF NOT EXISTS {name} WITH (FINAL_WORK = {goal}) AS {text}"
    with working(f"computing {name}"):
        connection.execute(statement.encode())
    return Shown(name, goal, time.monotonic() - began, rows=_rows(connection, name))


def _refreshed(connection: Connection, name: str) -> float:
    began = time.monotonic()
    with working(f"refreshing {name}"):
        connection.execute(SQL("REFRESH STANDING QUERY {}").format(Identifier(name)))
    return time.monotonic() - began


def _look_at(connection: Connection, shown: list[Shown]) -> None:
    known = {query.name: query for query in queries(connection) if query.schema == "tpch"}
    for query in shown:
        query.rows = _rows(connection, query.name)
        query.predicted_final_work = known[query.name].predicted_final_work
        query.measured_final_work = known[query.name].measured_final_work


def _verify(connection: Connection, name: str) -> None:
    statement = SQL("VERIFY STANDING QUERY {}").format(Identifier(name))
    with working(f"verifying {name}"):
        differences: tuple[dict[str, object], ...] = rows_of(connection, dict, statement)
    if differences:
        raise InternalError(f"the result of {name} differs from PostgreSQL's: {differences[0]}")


def _rows(connection: Connection, name: str) -> int:
    return int(value_of(connection, SQL("SELECT count(*) FROM {}").format(Identifier(name))))
