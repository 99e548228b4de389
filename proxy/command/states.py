"""`gavial states`: what is kept between runs, so that they need not read everything."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.table import Table

from catalog.queries.overview import KeptState, states
from proxy.command.options.server import Server, asking_server
from proxy.command.output import table
from proxy.command.output.values import bytes_text, print_json


@click.command("states")
@asking_server
def command(server: Server, as_json: bool) -> None:
    """List the rows that are kept to look them up by key: of what, how large, how often used, and why."""
    with server.connected() as connection:
        kept = states(connection)
    if as_json:
        print_json(kept)
    elif kept:
        table.show(states_table(kept))
    else:
        table.show("Nothing is kept to be looked up by key.")


def states_table(kept: Sequence[KeptState]) -> Table:
    """A line for each state, the largest first."""
    columns = ("rows of", "query", "by", "kept", "rows", "size", "predicted", "look-ups", "last used", "why")
    rows = [
        (
            state.state,
            "all" if state.query is None else state.query,
            state.key,
            state.kept,
            state.rows,
            bytes_text(state.bytes),
            bytes_text(state.predicted_bytes),
            state.uses,
            state.last_used,
            state.why,
        )
        for state in kept
    ]
    return table.table_of(columns, rows, ("rows", "size", "predicted", "look-ups"))
