"""`gavial show`: one standing query, with its parts."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.table import Table

from catalog.queries.overview import Part, QueryOverview, described, parts, queries, table_of
from proxy.command.options.names import NAME
from proxy.command.options.server import Server, asking_server
from proxy.command.output import table
from proxy.command.output.values import as_json as json_of
from proxy.command.output.values import print_json, seconds_text, share_text
from proxy.command.queries import goal_text, status_text

_REACHABLE = {None: "not known yet", True: "yes", False: "no: the closest plan is used"}


@click.command("show")
@asking_server
@NAME
def command(server: Server, as_json: bool, name: str) -> None:
    """Show one standing query: its text and options, how it stands, and the parts that compute it."""
    with server.connected() as connection:
        table_oid = table_of(connection, name)
        overview = queries(connection, table_oid)[0]
        text = described(connection, table_oid)
        computed_by = parts(connection, table_oid)
    if as_json:
        print_json({**json_of(overview), **text, "parts": computed_by})
        return
    table.show(table.properties_of(properties(overview, text["options"])), "", text["text"], "")
    table.show(parts_table(computed_by))


def properties(query: QueryOverview, options: dict[str, str]) -> dict[str, object]:
    """What there is to say of a query, by what it is about."""
    predicted = share_text(query.predicted_final_work) or "nothing yet"
    measured = share_text(query.measured_final_work) or "nothing yet"
    return {
        "Name": f"{query.schema}.{query.name}",
        "Owner": query.owner,
        "Status": status_text(query),
        "Options": ", ".join(f"{name} = {value}" for name, value in sorted(options.items())) or "none",
        "Last result": query.last_result or "none yet",
        "Next trigger": query.next_trigger or query.trigger,
        "Late by": query.late_by or "not late",
        "Final work": f"goal {goal_text(query)}, predicted {predicted}, measured {measured}",
        "Goal reachable": _REACHABLE[query.goal_reachable],
        "Position": query.position or "none yet",
    }


def parts_table(computed_by: Sequence[Part]) -> Table:
    """A line for each path, from the result down."""
    return table.table_of(
        ("part", "method", "reads", "pace", "work", "why no more often"),
        [
            (
                part.text,
                part.method,
                part.reads,
                part.pace,
                seconds_text(part.predicted_work),
                part.reason,
            )
            for part in computed_by
        ],
        ("pace", "work"),
    )
