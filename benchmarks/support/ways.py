"""The ways from a client to one and the same server: directly, through Gavial, through PgBouncer."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace

import psycopg

from benchmarks.support.address import Address
from benchmarks.support.pgbouncer import Upstream, pgbouncer
from tests.support.running.servers import Server, TlsFiles, gavial

DIRECT = "direct"
GAVIAL = "gavial"
GAVIAL_ONE = "gavial, 1 process"
PGBOUNCER = "pgbouncer"
PGBOUNCER_TCP = "pgbouncer, TCP upstream"


class WrongLegs(Exception):
    """A way is not what its name says, so that its figures would mean something else."""


@dataclass(frozen=True, slots=True)
class Ground:
    """The server, the connections it accepts, and the certificate for TLS to clients; None for plain text."""

    server: Server
    connections: int
    tls: TlsFiles | None = None

    def address(self) -> Address:
        """The server itself, over TCP."""
        server = self.server
        sslmode = "require" if self.tls else "disable"
        return Address(server.host, server.port, server.user, server.password, server.database, sslmode)


@dataclass(frozen=True, slots=True)
class Way:
    """Where clients connect, and the process at the head of the proxy; None without a proxy."""

    name: str
    address: Address
    proxy: int | None


@dataclass(frozen=True, slots=True)
class Legs:
    """What can be seen of the connections of a way, from the client and from the server."""

    client_tls: bool
    server_tls: bool
    server_socket: bool
    gavial: bool


Opener = Callable[[Ground], AbstractContextManager[Way]]


@contextmanager
def open_way(name: str, ground: Ground) -> Iterator[Way]:
    """Start what the way needs, make sure that it is what its name says, and stop it in the end."""
    opener, socket = OPENERS[name]
    with opener(ground) as way:
        expected = Legs(
            client_tls=ground.tls is not None,
            server_tls=ground.tls is not None and way.proxy is None,
            server_socket=socket,
            gavial=name in (GAVIAL, GAVIAL_ONE),
        )
        if (found := _legs(way)) != expected:
            raise WrongLegs(f"{name}: expected {expected}, found {found}")
        yield way


@contextmanager
def _direct(ground: Ground) -> Iterator[Way]:
    yield Way(DIRECT, ground.address(), None)


def _through_gavial(name: str, processes: int) -> Opener:
    """Gavial with a Unix-socket upstream, as in front of its embedded server."""

    @contextmanager
    def opener(ground: Ground) -> Iterator[Way]:
        arguments = ["--upstream", ground.server.dsn(host=str(ground.server.socket_dir))]
        arguments += ["--workers", str(processes), "--max-connections", str(ground.connections)]
        if ground.tls is not None:
            arguments += ["--tls-cert", str(ground.tls.cert), "--tls-key", str(ground.tls.key)]
        with gavial(*arguments) as running:
            address = replace(ground.address(), host="127.0.0.1", port=running.port)
            yield Way(name, address, running.process.pid)

    return opener


def _through_pgbouncer(name: str, *, socket: bool) -> Opener:
    """PgBouncer with an upstream like Gavial's, or over TCP."""

    @contextmanager
    def opener(ground: Ground) -> Iterator[Way]:
        server = ground.server
        host = str(server.socket_dir) if socket else server.host
        upstream = Upstream(host, server.port, _verifier(ground), ground.connections)
        with pgbouncer(upstream, ground.address(), ground.tls) as (address, process):
            yield Way(name, address, process)

    return opener


# Each way with whether its last leg, to the server, is a Unix socket.
OPENERS: Mapping[str, tuple[Opener, bool]] = {
    DIRECT: (_direct, False),
    GAVIAL: (_through_gavial(GAVIAL, os.cpu_count() or 1), True),
    GAVIAL_ONE: (_through_gavial(GAVIAL_ONE, 1), True),
    PGBOUNCER: (_through_pgbouncer(PGBOUNCER, socket=True), True),
    PGBOUNCER_TCP: (_through_pgbouncer(PGBOUNCER_TCP, socket=False), False),
}


def _verifier(ground: Ground) -> str:
    """The user's SCRAM secret, read from the server."""
    with ground.address().connect() as connection:
        row = connection.execute("SELECT rolpassword FROM pg_authid WHERE rolname = current_user").fetchone()
    assert row is not None
    return str(row[0])


def _legs(way: Way) -> Legs:
    """Look at the legs after some traffic, so that a relay which lost count of the bytes would show."""
    with way.address.connect() as connection:
        for _ in range(100):
            connection.execute("SELECT abalance FROM pgbench_accounts WHERE aid = %s", (1,))
        row = connection.execute(
            "SELECT ssl, inet_client_addr() IS NULL FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
        ).fetchone()
        assert row is not None
        return Legs(connection.pgconn.ssl_in_use, row[0], row[1], _answers_ours(connection))


def _answers_ours(connection: psycopg.Connection) -> bool:
    """Whether a statement of Gavial's is answered."""
    try:
        connection.execute("SHOW gavial.version")
    except psycopg.errors.UndefinedObject:
        return False
    return True
