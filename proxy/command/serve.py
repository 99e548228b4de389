"""`gavial serve`: what the operator asks for, checked before anything starts."""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click

from coordinator.embedded.postgres import make_data_directory
from executors.engines import OFFERED
from executors.machine import require_in_process_memory, require_memory
from executors.settings import EngineSettings
from proxy.command.options.server import DATA
from proxy.command.options.types import MASTER, NOT_EMPTY, REMOTE, Directory, Matching, Seconds, Size
from proxy.net.tls import self_signed, server_context
from proxy.processes.serve import Service, serve
from proxy.settings import Limits, Settings, Upstream, parse_upstream

_LEVELS: Final = ("debug", "info", "warning", "error")


@click.command("serve")
@DATA
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
    help="Compute no standing queries: another gavial in front of the server does.",
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
    type=click.Choice(OFFERED),
    default="auto",
    show_default=True,
    help="What computes standing queries; auto: Gavial itself or Spark, whichever is less work.",
)
@click.option(
    "--in-process-rows",
    type=click.IntRange(0),
    show_default="no bound but memory",
    help="Most changed rows of a part that is computed by Gavial itself; 0: everything on Spark.",
)
@click.option(
    "--in-process-memory",
    type=Size(),
    metavar="SIZE",
    default="1GB",
    show_default=True,
    help="Most memory of what is computed by Gavial itself.",
)
@click.option(
    "--memory-budget",
    type=Size(),
    metavar="SIZE",
    show_default="a quarter of the machine's",
    help="Most memory and disk of rows that queries keep to look them up by key; 0: rows are scanned.",
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
def command(
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
    warehouse: str | None,
    allow_unbounded_wal: bool,
    console_port: int | None,
    log_level: str,
    **of_engines: Any,
) -> None:
    """Run the proxy, and PostgreSQL behind it unless there is an upstream; until SIGTERM."""
    logging.basicConfig(level=log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    engines = _checked(EngineSettings(data.absolute() / "spark", **of_engines))
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
        proxy_only=proxy_only,
        allow_unbounded_wal=allow_unbounded_wal,
        engines=engines,
    )
    serve(
        Service(
            data=data,
            host=host,
            port=port,
            socket_dir=socket_dir,
            upstream=parsed,
            workers=workers or _cores(),
            settings=settings,
            warehouse=warehouse,
        )
    )


def _checked(options: EngineSettings) -> EngineSettings:
    """The settings, if they go together; no rows for this process mean Spark alone."""
    if options.spark_master and options.spark_remote:
        raise click.UsageError("--spark-master and --spark-remote exclude each other")
    if options.spark_memory is not None and options.spark_remote:
        raise click.UsageError("--spark-memory and --spark-remote exclude each other")
    if options.spark_memory is not None:
        require_memory(options.spark_memory)
    if options.engine != "auto":
        return options
    if options.in_process_rows == 0:
        return replace(options, engine="spark")
    require_in_process_memory(options.in_process_memory)
    return options


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
