"""TLS between client and proxy: both ways to begin it, verification, versions (G21)."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import psycopg
import pytest

from tests.product.clients.programs import postgres_program, run
from tests.support.running.servers import Gavial, Server, TlsFiles, gavial, make_certificate, wait_until

pytestmark = pytest.mark.service

SSL_REQUEST = struct.pack("!II", 8, 80877103)
PATIENCE_SECONDS = 30


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> TlsFiles:
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def proxy(postgres15: Server, files: TlsFiles) -> Iterator[Gavial]:
    with gavial("--tls-cert", str(files.cert), "--tls-key", str(files.key), upstream=postgres15) as running:
        yield running


def verified(proxy: Gavial, files: TlsFiles, **parameters: object) -> str:
    return proxy.dsn(sslmode="verify-full", sslrootcert=files.ca, **parameters)


def reach(proxy: Gavial, *, negotiated: bool) -> socket.socket:
    """A TCP connection, at the point where the client begins its TLS handshake."""
    connection = socket.create_connection(("127.0.0.1", proxy.port), PATIENCE_SECONDS)
    if negotiated:
        connection.sendall(SSL_REQUEST)
        assert connection.recv(1) == b"S"
    return connection


def context(files: TlsFiles, *protocols: str) -> ssl.SSLContext:
    made = ssl.create_default_context(cafile=str(files.ca))
    if protocols:
        made.set_alpn_protocols(protocols)
    return made


def test_psql_verifies_the_certificate(proxy: Gavial, files: TlsFiles) -> None:
    psql = postgres_program("psql", 15)
    done = run(psql, "--no-psqlrc", verified(proxy, files), script="\\conninfo\nshow gavial.version;\n")
    assert "SSL connection (protocol: TLSv1.3" in done.stdout
    assert "0.1.0" in done.stdout


def test_certificate_of_another_authority_is_not_accepted(proxy: Gavial, tmp_path: Path) -> None:
    other = make_certificate(tmp_path, "elsewhere")
    with pytest.raises(psycopg.OperationalError, match="certificate verify failed"):
        psycopg.connect(verified(proxy, other))


@pytest.mark.parametrize("negotiation", ["postgres", "direct"])
@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_session_inside_tls(proxy: Gavial, files: TlsFiles, negotiation: str, version: str) -> None:
    lines = "".join(f"{n}\tline {n}\n" for n in range(100_000))
    with psycopg.connect(
        verified(proxy, files),
        sslnegotiation=negotiation,
        ssl_min_protocol_version=version,
        ssl_max_protocol_version=version,
        autocommit=True,
    ) as connection:
        assert connection.pgconn.ssl_in_use
        with connection.cursor() as cursor:
            cursor.execute("create temp table t (n int, line text)")
            with cursor.copy("copy t from stdin") as copy:
                copy.write(lines)
            with cursor.copy("copy t to stdout") as copy:
                assert b"".join(bytes(block) for block in copy).decode() == lines
            assert cursor.execute("show gavial.version").fetchone() is not None


def test_cancel_travels_inside_tls(proxy: Gavial, files: TlsFiles) -> None:
    with (
        psycopg.connect(verified(proxy, files), autocommit=True) as session,
        psycopg.connect(proxy.dsn(), autocommit=True) as watcher,
    ):
        query = "select count(*) from pg_stat_activity where pid = %s and wait_event = 'PgSleep'"

        def cancel() -> None:
            sleeping = (session.info.backend_pid,)
            wait_until(lambda: watcher.execute(query, sleeping).fetchone() == (1,), "no sleep to cancel")
            session.cancel_safe()

        canceller = threading.Thread(target=cancel)
        canceller.start()
        with pytest.raises(psycopg.errors.QueryCanceled):
            session.execute("select pg_sleep(600)")
        canceller.join()


def test_asyncpg_inside_tls(proxy: Gavial, files: TlsFiles) -> None:
    async def session() -> object:
        connection = await asyncpg.connect(proxy.url, ssl=context(files), direct_tls=False)
        try:
            return await connection.fetchval("select 42")
        finally:
            await connection.close()

    assert asyncio.run(session()) == 42


def test_protocol_is_named_in_the_handshake(proxy: Gavial, files: TlsFiles) -> None:
    for negotiated in (True, False):
        with (
            reach(proxy, negotiated=negotiated) as plain,
            context(files, "http/1.1", "postgresql").wrap_socket(
                plain, server_hostname="localhost"
            ) as inside,
        ):
            assert inside.selected_alpn_protocol() == "postgresql"


@pytest.mark.parametrize("protocols", [(), ("http/1.1",)], ids=["none", "another"])
def test_direct_handshake_must_name_the_protocol(
    proxy: Gavial, files: TlsFiles, protocols: tuple[str, ...]
) -> None:
    with (
        reach(proxy, negotiated=False) as plain,
        context(files, *protocols).wrap_socket(plain, server_hostname="localhost") as inside,
    ):
        assert answer(inside, struct.pack("!II", 8, 80877104)) == b""


def answer(inside: ssl.SSLSocket, request: bytes) -> bytes:
    """What comes back; nothing when the other side has closed the connection."""
    try:
        inside.sendall(request)
        return inside.recv(1)
    except (ConnectionError, ssl.SSLEOFError):
        return b""


@pytest.mark.parametrize("negotiated", [True, False], ids=["negotiated", "direct"])
def test_versions_before_tls_1_2_are_refused(proxy: Gavial, files: TlsFiles, negotiated: bool) -> None:
    old = context(files, "postgresql")
    old.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        old.minimum_version = ssl.TLSVersion.TLSv1
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    assert handshake(old, proxy, negotiated=negotiated) == "TLSv1.2"
    for version in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            old.maximum_version = version
        with pytest.raises((ssl.SSLError, ConnectionError)):
            handshake(old, proxy, negotiated=negotiated)


def handshake(context: ssl.SSLContext, proxy: Gavial, *, negotiated: bool) -> str | None:
    with (
        reach(proxy, negotiated=negotiated) as plain,
        context.wrap_socket(plain, server_hostname="localhost", do_handshake_on_connect=False) as inside,
    ):
        inside.do_handshake()
        return inside.version()


def test_self_signed_certificate_protects(postgres15: Server) -> None:
    with (
        gavial("--tls-self-signed", upstream=postgres15) as proxy,
        psycopg.connect(proxy.dsn(sslmode="require")) as connection,
    ):
        assert connection.pgconn.ssl_in_use
        assert connection.execute("select 1").fetchone() == (1,)


def test_proxy_without_a_certificate_says_no(gavial15: Gavial) -> None:
    with pytest.raises(psycopg.OperationalError, match="server does not support SSL"):
        psycopg.connect(gavial15.dsn(sslmode="require"))
    with psycopg.connect(gavial15.dsn(sslmode="prefer")) as connection:
        assert not connection.pgconn.ssl_in_use
