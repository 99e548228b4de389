"""`gavial serve`: everything that runs, from the first lock to the last process."""

from __future__ import annotations

import contextlib
import logging
import os
import resource
import shlex
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Final
from urllib.parse import quote

import psycopg

from catalog.errors import ConfigurationError
from catalog.wording import one_line
from coordinator.embedded.postgres import EmbeddedPostgres
from proxy.net.listen import listen_tcp, listen_unix
from proxy.processes.coordinator_supervisor import CoordinatorSupervisor, orders_for
from proxy.processes.data_directory import locked
from proxy.processes.postgres_supervisor import PostgresSupervisor
from proxy.processes.readiness import tell_problems
from proxy.processes.workers import Workers
from proxy.settings import Limits, Settings, Upstream

log = logging.getLogger(__name__)

_WATCH_SECONDS: Final = 0.2
_STOPPING_SECONDS: Final = 5.0
_DESCRIPTORS_A_SESSION: Final = 2
_DESCRIPTORS_SPARE: Final = 64


@dataclass(frozen=True, slots=True)
class Service:
    """What `gavial serve` was asked for."""

    data: Path
    host: str
    port: int
    socket_dir: Path | None
    upstream: Upstream | None
    workers: int
    settings: Settings
    warehouse: str | None = None


def serve(service: Service) -> None:
    """Run until SIGTERM or SIGINT."""
    stop = _Signals()
    with contextlib.ExitStack() as stack:
        is_ours = stack.enter_context(locked(service.data))
        listeners = _listen(service, stack)
        port = listeners[0].getsockname()[1]
        postgres_supervisor = None
        upstream = service.upstream
        if upstream is None:
            embedded = EmbeddedPostgres(service.data)
            postgres_supervisor = PostgresSupervisor(embedded)
            stack.callback(postgres_supervisor.stop)
            upstream = _embedded_upstream(embedded, service.data)
        limits = _affordable(service.settings.limits)
        settings = replace(service.settings, upstream=upstream, limits=limits)
        workers = Workers(service.workers, settings, listeners)
        stack.callback(workers.stop, settings.limits.drain_seconds + _STOPPING_SECONDS)
        coordinator_supervisor = orders = None
        if not settings.proxy_only:
            orders = orders_for(settings, service.data, service.warehouse)
            coordinator_supervisor = CoordinatorSupervisor(orders)
            stack.callback(coordinator_supervisor.stop)
        workers.start()
        write_url(service.data, service.host, port, upstream)
        stack.callback((service.data / "url").unlink, missing_ok=True)
        _announce(service, port, upstream)
        tell_problems(settings, orders)
        _watch(stop, workers, coordinator_supervisor, postgres_supervisor, is_ours)
        for listener in listeners:
            listener.close()


def write_url(data: Path, host: str, port: int, upstream: Upstream) -> None:
    """Keep the connection URI, password and all, where only the owner can read it."""
    password = f":{quote(upstream.password, safe='')}" if upstream.password else ""
    address = f"[{host}]" if ":" in host else host
    url = (
        f"postgresql://{quote(upstream.user, safe='')}{password}@{address}:{port}"
        f"/{quote(upstream.database, safe='')}"
    )
    path = data / "url"
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(url + "\n")


class _Signals:
    """Signals as flags, looked at by the watch."""

    def __init__(self) -> None:
        self.stop = False
        self.reload = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_stop)
        signal.signal(signal.SIGHUP, self._on_reload)

    def _on_stop(self, _number: int, _frame: FrameType | None) -> None:
        self.stop = True

    def _on_reload(self, _number: int, _frame: FrameType | None) -> None:
        self.reload = True


def _watch(
    signals: _Signals,
    workers: Workers,
    coordinator_supervisor: CoordinatorSupervisor | None,
    postgres_supervisor: PostgresSupervisor | None,
    is_ours: Callable[[], bool],
) -> None:
    while not signals.stop:
        time.sleep(_WATCH_SECONDS)
        if not is_ours():
            raise ConfigurationError("the data directory was removed or replaced while it was in use")
        if signals.reload:
            signals.reload = False
            workers.signal(signal.SIGHUP)
        workers.replace_dead()
        if coordinator_supervisor is not None:
            coordinator_supervisor.look()
        if postgres_supervisor is not None:
            postgres_supervisor.look()


def _embedded_upstream(embedded: EmbeddedPostgres, data: Path) -> Upstream:
    endpoint = embedded.start()
    upstream = Upstream(
        host=str(endpoint.socket_dir),
        port=endpoint.port,
        user=endpoint.user,
        password=endpoint.password,
        database=endpoint.database,
        sslmode="disable",
        embedded=True,
    )
    try:
        psycopg.connect(
            host=upstream.host,
            port=upstream.port,
            user=upstream.user,
            password=upstream.password,
            dbname=upstream.database,
        ).close()
    except psycopg.OperationalError as error:
        raise ConfigurationError(
            f"the password in {data / 'password'} does not open the server",
            detail=one_line(str(error)),
            hint=f"If it was changed with ALTER ROLE {upstream.user}, write the new one into that file.",
        ) from None
    return upstream


def _listen(service: Service, stack: contextlib.ExitStack) -> list[socket.socket]:
    listeners = listen_tcp(service.host, service.port)
    port = listeners[0].getsockname()[1]
    directory = service.socket_dir or service.data
    unix = listen_unix(directory, port)
    stack.callback((directory / f".s.PGSQL.{port}").unlink, missing_ok=True)
    return [*listeners, unix]


def _affordable(limits: Limits) -> Limits:
    """The limits, with fewer connections where the process may not open so many descriptors."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    room = max(1, (hard - _DESCRIPTORS_SPARE) // _DESCRIPTORS_A_SESSION)
    if room < limits.connections:
        log.warning("%d connections at most: the limit on open files is %d", room, hard)
    return replace(limits, connections=min(limits.connections, room))


def _announce(service: Service, port: int, upstream: Upstream) -> None:
    behind = "embedded PostgreSQL" if upstream.embedded else f"{upstream.host}:{upstream.port}"
    sys.stdout.write(
        f"gavial: ready on {service.host}:{port} in front of {behind}, {service.workers} processes; "
        f'connect: psql "$(gavial url --data {shlex.quote(str(service.data))})"\n'
    )
    sys.stdout.flush()
