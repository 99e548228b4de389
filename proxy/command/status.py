"""`gavial status`: the server, the capture of changes, and how many queries there are in which state."""

from __future__ import annotations

import click

from catalog.queries.overview import ServerOverview, server_overview
from proxy.command.options.server import Server, asking_server
from proxy.command.output.table import properties_of, show
from proxy.command.output.values import bytes_text, print_json, time_text


@click.command("status")
@asking_server
def command(server: Server, as_json: bool) -> None:
    """Say whether changes are captured, how far, and how many queries are late or in error."""
    with server.connected() as connection:
        overview = server_overview(connection)
    if as_json:
        print_json(overview)
    else:
        show(properties_of(status_properties(overview)))


def status_properties(overview: ServerOverview) -> dict[str, object]:
    """What there is to say, by what it is about."""
    return {
        "Gavial": overview.version,
        "Server": f"PostgreSQL {overview.server_version}",
        "Database": f"{overview.database}, login {overview.login}",
        "Coordinator": "does not work on this database" if overview.coordinator is None else "at work",
        "Capture": _capture(overview),
        "WAL kept": _retained(overview),
        "Tables": f"{overview.tables} captured{_stopped(overview)}",
        "Queries": _queries(overview),
        "Runs": f"{overview.under_way} under way",
    }


def _capture(overview: ServerOverview) -> str:
    if overview.slot is None:
        return "no table is captured"
    parts = [overview.capture]
    if overview.detail:
        parts.append(overview.detail)
    if overview.captured_until is not None:
        parts.append(f"last transaction of {time_text(overview.captured_until)}")
    if overview.behind_bytes is not None:
        parts.append(f"{bytes_text(overview.behind_bytes)} of WAL behind")
    return ", ".join(parts)


def _retained(overview: ServerOverview) -> str:
    if overview.retained_wal is None:
        return "none"
    most = "no limit" if overview.max_wal is None else f"at most {bytes_text(overview.max_wal)}"
    return f"{bytes_text(overview.retained_wal)} for slot {overview.slot}, {most}"


def _stopped(overview: ServerOverview) -> str:
    return f", {overview.stopped_tables} of them stopped" if overview.stopped_tables else ""


def _queries(overview: ServerOverview) -> str:
    counts = [f"{number} {status}" for status, number in sorted(overview.queries.items())]
    late = [f"{overview.late} late"] if overview.late else []
    return ", ".join([*counts, *late]) or "none"
