"""`gavial doctor`: what this machine, a server and a running Gavial have of what is needed."""

from __future__ import annotations

import sys

import click

from catalog.errors import ConfigurationError
from proxy.command.checks.findings import Finding, Status, render
from proxy.command.checks.machine import examine_machine
from proxy.command.checks.running import examine_running
from proxy.command.checks.upstream import examine_upstream
from proxy.command.options.server import Server, asking_server
from proxy.command.output.progress import working
from proxy.command.output.values import print_json
from proxy.processes.data_directory import in_use


@click.command("doctor")
@asking_server
@click.option("--upstream", metavar="DSN", help="PostgreSQL to look at, with the login of gavial serve.")
def command(server: Server, as_json: bool, upstream: str | None) -> None:
    """Say what this machine, and a server, have of what Gavial needs, and what to do about what is missing.

    Looks at what is served from the data directory too, or at any Gavial by its URL; the status is 1 where
    something is missing.
    """
    with working("looking"):
        findings = examine(server, upstream)
    if as_json:
        print_json(findings)
    else:
        click.echo(render(findings))
    if any(finding.status is Status.MISSING for finding in findings):
        sys.exit(1)


def examine(server: Server, upstream: str | None = None) -> tuple[Finding, ...]:
    """Everything there is to look at; nothing is changed."""
    runs = server.url is not None or in_use(server.data)
    of_machine = () if server.url is not None else examine_machine(server.data, embedded=upstream is None)
    of_upstream = () if upstream is None else examine_upstream(upstream)
    return (*of_machine, *of_upstream, *(_of_running(server) if runs else ()))


def _of_running(server: Server) -> tuple[Finding, ...]:
    try:
        with server.connected() as connection:
            return examine_running(connection)
    except ConfigurationError as error:
        return (Finding(Status.MISSING, "running", error.message, error.hint or ""),)
