"""`gavial queries`: all standing queries of a database at a glance."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.table import Table

from catalog.queries.overview import QueryOverview, queries
from proxy.command.options.server import Server, asking_server
from proxy.command.output.table import show, table_of
from proxy.command.output.values import print_json, share_text


@click.command("queries")
@asking_server
@click.option("--verbose", is_flag=True, help="Owners and positions too.")
def command(server: Server, as_json: bool, verbose: bool) -> None:
    """List the standing queries: status, last result, next trigger, what is left for it and what may be."""
    with server.connected() as connection:
        overviews = queries(connection)
    if as_json:
        print_json(overviews)
    elif overviews:
        show(queries_table(overviews, verbose=verbose))
    else:
        show("There are no standing queries in this database.")


def queries_table(overviews: Sequence[QueryOverview], *, verbose: bool = False) -> Table:
    """A line for each query."""
    columns = ["name", "status", "trigger", "last result", "next trigger", "late by", "goal", "measured"]
    rows = [
        [
            f"{query.schema}.{query.name}",
            status_text(query),
            query.trigger,
            query.last_result,
            query.next_trigger,
            query.late_by or None,
            goal_text(query),
            share_text(query.measured_final_work),
        ]
        for query in overviews
    ]
    if verbose:
        columns += ["owner", "position"]
        rows = [[*row, query.owner, query.position] for row, query in zip(rows, overviews, strict=True)]
    return table_of(columns, rows, ("late by", "goal", "measured"))


def status_text(query: QueryOverview) -> str:
    """The status, and why it is that."""
    return query.status if query.detail is None else f"{query.status}: {query.detail}"


def goal_text(query: QueryOverview) -> str:
    """What may be left for the trigger: a share of the work, or a time."""
    return share_text(query.goal) if query.latency_goal is None else query.latency_goal
