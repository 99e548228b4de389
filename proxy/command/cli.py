"""The `gavial` command."""

from __future__ import annotations

import asyncio
import logging
import os
import shlex
import sys
from pathlib import Path
from typing import Any, Final

import click

from catalog.errors import ConfigurationError, Error
from catalog.version import VERSION
from coordinator.embedded.postgres import make_data_directory
from executors.settings import IN_PROCESS_ROWS
from executors.spark.machine import require_memory
from proxy.command.doctor import Status, examine, render
from proxy.command.install import prepare
from proxy.command.option_types import MASTER, NOT_EMPTY, REMOTE, Directory, Matching, Seconds, Size
from proxy.net.tls import self_signed, server_context
from proxy.processes.coordinator_supervisor import CoordinatorOptions
from proxy.processes.data_directory import in_use
from proxy.processes.serve import Service, serve
from proxy.settings import Limits, Settings, Upstream, parse_upstream
from sources.server.prerequisites import lack_text

_DATA: Final = click.option(
    "--data",
    type=Directory(file_okay=False, path_type=Path),
    default=Path("gavial-data"),
    show_default="./gavial-data",
    help="Directory of everything that Gavial keeps.",
)
_LEVELS: Final = ("debug", "info", "warning", "error")


@click.group()
@click.version_option(VERSION, prog_name="gavial")
def gavial() -> None:
    """PostgreSQL, plus standing queries that pace themselves."""


@gavial.command("serve")
@_DATA
@click.option("--host", default="localhost", show_default=True, help="Name or address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=5433, show_default=True, help="0: any free one."
)
@click.option(
    "--socket-dir",
    type=Directory(exists=True, file_okay=False, path_type=Path),
    show_default="the data directory",
    help="Directory of the Unix socket.",
)
@click.option("--upstream", metavar="DSN", help="PostgreSQL to stand in front of; none: one of our own.")
@click.option("--workers", type=click.IntRange(1, 64), show_default="one per core", help="Proxy processes.")
@click.option("--tls-cert", type=click.Path(exists=True, dir_okay=False), help="Certificate chain, PEM.")
@click.option("--tls-key", type=click.Path(exists=True, dir_okay=False), help="Its private key, PEM.")
@click.option("--tls-self-signed", is_flag=True, help="Make a certificate in the data directory, and use it.")
@click.option(
    "--max-connections",
    type=click.IntRange(1, 262143),
    default=5000,
    show_default=True,
    help="The next one is refused with 53300.",
)
@click.option("--proxy-protocol", is_flag=True, help="Expect PROXY protocol v2 on TCP connections.")
@click.option(
    "--proxy-only",
    is_flag=True,
    help="Answer no standing queries: another gavial in front of the server does.",
)
@click.option("--allow-trust", is_flag=True, help="Let clients in whom the upstream asks for no password.")
@click.option(
    "--startup-seconds",
    type=Seconds(0.1),
    default=60.0,
    show_default=True,
    help="Time from accept to the end of authentication.",
)
@click.option(
    "--drain-seconds",
    type=Seconds(0),
    default=5.0,
    show_default=True,
    help="Time that busy sessions get after SIGTERM.",
)
@click.option(
    "--warehouse",
    type=Matching(NOT_EMPTY, "a directory or a URI"),
    metavar="URI",
    show_default="the data directory",
    help="Directory or URI of the captured changes, which Spark and PyArrow both reach.",
)
@click.option(
    "--allow-unbounded-wal",
    is_flag=True,
    help="Capture though max_slot_wal_keep_size lets WAL fill the server's disk while nobody reads it.",
)
@click.option(
    "--spark-master",
    type=Matching(MASTER, "local[N], spark://HOST:PORT, yarn or k8s://ADDRESS"),
    metavar="URL",
    help="Cluster that computes standing queries, in place of this machine.",
)
@click.option(
    "--spark-remote",
    type=Matching(REMOTE, "sc://HOST:PORT"),
    metavar="URL",
    help="Spark Connect server that computes standing queries.",
)
@click.option(
    "--spark-memory",
    type=Size(),
    metavar="SIZE",
    show_default="a third of the machine's",
    help="Memory of Spark, where it runs on this machine, such as 3GB.",
)
@click.option(
    "--engine",
    type=click.Choice(("auto", "spark")),
    default="auto",
    show_default=True,
    help="Where standing queries are computed: auto: what is small in this process, all else on Spark.",
)
@click.option(
    "--in-process-rows",
    type=click.IntRange(0),
    default=IN_PROCESS_ROWS,
    show_default=True,
    help="Most changed rows of what is computed in this process; 0: everything on Spark.",
)
@click.option(
    "--in-process-memory",
    type=Size(),
    metavar="SIZE",
    default="1GB",
    show_default=True,
    help="Most memory of what is computed in this process.",
)
@click.option(
    "--console-port",
    type=click.IntRange(0, 65535),
    show_default="8433",
    help="Port of the console (no effect yet: there is no console).",
)
@click.option(
    "--log-level",
    type=click.Choice(_LEVELS),
    default="warning",
    show_default=True,
    help="Least serious message to log on standard error.",
)
def serve_command(
    *,
    data: Path,
    host: str,
    port: int,
    socket_dir: Path | None,
    upstream: str | None,
    workers: int | None,
    tls_cert: str | None,
    tls_key: str | None,
    tls_self_signed: bool,
    max_connections: int,
    proxy_protocol: bool,
    proxy_only: bool,
    allow_trust: bool,
    startup_seconds: float,
    drain_seconds: float,
    console_port: int | None,
    log_level: str,
    **of_coordinator: Any,
) -> None:
    """Run the proxy, and PostgreSQL behind it unless there is an upstream; until SIGTERM."""
    logging.basicConfig(level=log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    coordinator_options = CoordinatorOptions(**of_coordinator)
    _check_spark(coordinator_options)
    if console_port is not None:
        click.echo("gavial: --console-port has no effect yet: there is no console", err=True)
    cert, key = _certificate(data, tls_cert, tls_key, make=tls_self_signed)
    parsed = None if upstream is None else parse_upstream(upstream)
    settings = Settings(
        upstream=parsed or Upstream("", 0, "", "", ""),
        limits=Limits(max_connections, startup_seconds, drain_seconds),
        tls_cert=cert,
        tls_key=key,
        allow_trust=allow_trust,
        proxy_protocol=proxy_protocol,
        log_level=log_level,
    )
    serve(
        Service(
            data,
            host,
            port,
            socket_dir,
            parsed,
            workers or _cores(),
            settings,
            coordinator_options,
            proxy_only,
        )
    )


@gavial.command("url")
@_DATA
def url_command(data: Path) -> None:
    """Print the URI to connect with, password included."""
    try:
        url = (data / "url").read_text().strip() if in_use(data) else ""
    except OSError:
        url = ""
    if not url:
        hint = f"Start it: gavial serve --data {shlex.quote(str(data))}"
        raise ConfigurationError(f"nothing is served from {data}", hint=hint)
    click.echo(url)


@gavial.command("doctor")
@_DATA
@click.option("--upstream", metavar="DSN", help="PostgreSQL to look at, with the login of gavial serve.")
def doctor_command(data: Path, upstream: str | None) -> None:
    """Say what this machine, and a server, have of what Gavial needs, and what is missing."""
    findings = examine(data, upstream)
    click.echo(render(findings))
    if any(finding.status is Status.MISSING for finding in findings):
        sys.exit(1)


@gavial.command("install")
@click.option(
    "--upstream", metavar="DSN", required=True, help="A superuser's login in the database to prepare."
)
@click.option(
    "--login", metavar="ROLE", help="Login of --upstream of `gavial serve`, where it is no superuser's."
)
@click.option("--allow-verifier", metavar="ROLE", help="The same, to check passwords: see authentication.")
def install_command(upstream: str, login: str | None, allow_verifier: str | None) -> None:
    """Prepare a database of a PostgreSQL that Gavial stands in front of, and say what the server lacks."""
    for lack in asyncio.run(prepare(upstream, login, allow_verifier)):
        click.echo(f"gavial: {lack_text(lack)}", err=True)


def _check_spark(options: CoordinatorOptions) -> None:
    if options.spark_master and options.spark_remote:
        raise click.UsageError("--spark-master and --spark-remote exclude each other")
    if options.spark_memory is not None and options.spark_remote:
        raise click.UsageError("--spark-memory and --spark-remote exclude each other")
    if options.spark_memory is not None:
        require_memory(options.spark_memory)


def _certificate(data: Path, cert: str | None, key: str | None, *, make: bool) -> tuple[str, str]:
    if make and (cert or key):
        raise click.UsageError("--tls-self-signed excludes --tls-cert and --tls-key")
    if make:
        make_data_directory(data)
        return self_signed(data)
    if not cert and not key:
        return "", ""
    if not cert or not key:
        raise click.UsageError("--tls-cert and --tls-key belong together")
    server_context(cert, key)
    return os.path.abspath(cert), os.path.abspath(key)


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def main() -> None:
    """Run the command; what the user can mend is said in one line."""
    try:
        gavial(prog_name="gavial")
    except Error as error:
        more = " ".join(filter(None, (error.detail, error.hint)))
        click.echo(f"gavial: {error.message}{f' ({more})' if more else ''}", err=True)
        sys.exit(1)
