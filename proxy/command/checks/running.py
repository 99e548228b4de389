"""What a Gavial that runs says of itself: its version, its server, its slot, its clock, its queries."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from psycopg import Connection

from catalog.queries.overview import QueryOverview, ServerOverview, queries, server_overview
from catalog.rows import row_of
from catalog.version import VERSION
from proxy.command.checks.findings import Finding, Status
from proxy.command.checks.upstream import finding_of
from proxy.command.output.values import bytes_text
from sources.server.prerequisites import FACTS, ServerFacts, lacks

_CLOCK_SECONDS: Final = 5.0
"""By so much the clocks of two machines may differ: times of triggers are the server's."""
_THREATENED: Final = 0.8
"""More of the WAL that may be kept than this is a warning."""


def examine_running(connection: Connection) -> tuple[Finding, ...]:
    """Everything that can be asked through a connection; nothing is changed."""
    overview = server_overview(connection)
    now = datetime.now(UTC)
    login = overview.capture_login
    facts = row_of(connection, ServerFacts, FACTS, (login,))
    # Rights are those of the login that captures; until one did, only the server's settings are known.
    lacking = (
        [] if facts is None else [lack for lack in lacks(facts) if login is not None or not lack.is_right]
    )
    return (
        version_finding(overview),
        *map(finding_of, lacking),
        clock_finding(overview, now),
        coordinator_finding(overview),
        *slot_findings(overview),
        *query_findings(queries(connection)),
    )


def version_finding(overview: ServerOverview) -> Finding:
    """Whether this program, the one that serves and the schema are of one version."""
    server = f"PostgreSQL {overview.server_version}, database {overview.database}, login {overview.login}"
    versions = {overview.version, overview.installed or overview.version}
    finding_text = f"Gavial {overview.version} in front of {server}"
    if versions == {VERSION}:
        return Finding(Status.OK, "running", finding_text)
    others = ", ".join(sorted(versions - {VERSION}))
    return Finding(
        Status.WARN,
        "running",
        finding_text,
        f"this program is {VERSION} and there is {others}: restart gavial serve",
    )


def clock_finding(overview: ServerOverview, now: datetime) -> Finding:
    """How far the server's clock is from this machine's."""
    apart = abs((overview.clock - now).total_seconds())
    finding_text = f"{apart:.1f} s from this machine's"
    if apart <= _CLOCK_SECONDS:
        return Finding(Status.OK, "clock", finding_text)
    return Finding(Status.WARN, "clock", finding_text, "set both by NTP: triggers fire by the server's clock")


def coordinator_finding(overview: ServerOverview) -> Finding:
    """Whether somebody computes here."""
    if overview.coordinator is not None:
        return Finding(Status.OK, "coordinator", "at work on this database")
    if not overview.queries:
        return Finding(Status.OK, "coordinator", "has nothing to do: there are no standing queries")
    return Finding(
        Status.MISSING,
        "coordinator",
        "does not work on this database",
        "start gavial serve without --proxy-only; if it runs, its log says why",
    )


def slot_findings(overview: ServerOverview) -> Iterator[Finding]:
    """How far capture is, and how much WAL the server keeps for it."""
    if overview.slot is None:
        return
    match overview.capture:
        case "running":
            yield Finding(Status.OK, "capture", f"slot {overview.slot}, {_behind(overview)}")
        case state:
            remedy = "it goes on by itself" if state == "paused" else "the log of gavial serve says more"
            finding_text = ": ".join(filter(None, (state, overview.detail)))
            yield Finding(
                Status.WARN if state == "paused" else Status.MISSING, "capture", finding_text, remedy
            )
    if overview.retained_wal is None:
        return
    kept = f"{bytes_text(overview.retained_wal)} of WAL kept"
    if overview.max_wal is None:
        hint = "set max_slot_wal_keep_size, or the server's disk may fill up"
        yield Finding(Status.WARN, "slot", f"{kept}, without limit", hint)
    elif overview.retained_wal > _THREATENED * overview.max_wal:
        hint = "raise max_slot_wal_keep_size, or see why capture is behind; a slot that is lost means copying"
        yield Finding(Status.WARN, "slot", f"{kept} of at most {bytes_text(overview.max_wal)}", hint)
    else:
        yield Finding(Status.OK, "slot", f"{kept} of at most {bytes_text(overview.max_wal)}")


def query_findings(finding_text: tuple[QueryOverview, ...]) -> Iterator[Finding]:
    """Queries that are in error; how many there are else."""
    failed = [query for query in finding_text if query.status == "error"]
    for query in failed:
        name = f"{query.schema}.{query.name}"
        yield Finding(
            Status.WARN, "query", f"{name}: {query.detail}", "mend that; it is tried again by itself"
        )
    yield Finding(Status.OK, "queries", f"{len(finding_text)}, {len(failed)} of them in error")


def _behind(overview: ServerOverview) -> str:
    return (
        "position unknown" if overview.behind_bytes is None else f"{bytes_text(overview.behind_bytes)} behind"
    )
