"""`gavial history`: the triggers of a standing query."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.table import Table

from catalog.queries.overview import Fired, history, table_of
from proxy.command.options.names import NAME
from proxy.command.options.server import Server, asking_server
from proxy.command.output import table
from proxy.command.output.values import print_json, seconds_text, share_text

_MET = {None: "", True: "met", False: "missed"}


@click.command("history")
@asking_server
@NAME
@click.option("--last", type=click.IntRange(1), default=20, show_default=True, help="So many triggers.")
def command(server: Server, as_json: bool, name: str, last: int) -> None:
    """List the latest triggers of a query: what was left for each, as asked, predicted and measured."""
    with server.connected() as connection:
        fired = history(connection, table_of(connection, name), last)
    if as_json:
        print_json(fired)
    elif fired:
        table.show(history_table(fired))
    else:
        table.show("Its first result has not been published yet.")


_COLUMNS = (
    "trigger",
    "goal",
    "predicted",
    "measured",
    "met",
    "result after",
    "batch's work",
    "all work",
    "position",
)
_NUMBERS = (*_COLUMNS[1:4], *_COLUMNS[5:8])


def history_table(fired: Sequence[Fired]) -> Table:
    """A line for each trigger, the last one first."""
    rows = [
        (
            trigger.fired,
            share_text(trigger.goal),
            share_text(trigger.predicted_final_work),
            share_text(trigger.measured_final_work),
            _MET[trigger.met],
            seconds_text(trigger.seconds),
            seconds_text(trigger.batch_work),
            seconds_text(trigger.total_work),
            trigger.position,
        )
        for trigger in fired
    ]
    return table.table_of(_COLUMNS, rows, _NUMBERS)
