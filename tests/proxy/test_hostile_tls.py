"""Clients that misuse TLS are refused, and nothing they sent in clear is ever acted upon (G21)."""

from __future__ import annotations

import ssl
from collections.abc import Iterator

import pytest

from tests.support.running.processes import proxies, resident_bytes
from tests.support.running.servers import Gavial, Server, gavial
from tests.support.wire.client_messages import GSSENCRequest, Query, SSLRequest, Startup
from tests.support.wire.raw_client import Address, RawClient, anonymous_tls

pytestmark = pytest.mark.service

MOST_GROWTH = 24 << 20
START = Startup("user", "postgres", "database", "postgres")


@pytest.fixture(scope="module")
def running(postgres18: Server) -> Iterator[Gavial]:
    options = ("--tls-self-signed", "--startup-seconds", "2", "--workers", "1")
    with gavial(*options, upstream=postgres18) as running:
        yield running


@pytest.fixture
def client(running: Gavial) -> Iterator[RawClient]:
    """A connection; afterwards another client is served, and the proxy is no larger."""
    address = Address.of(running.dsn())
    (worker,) = proxies(running.process.pid)
    before = resident_bytes(worker)
    with RawClient(address.host, address.port) as client:
        yield client
    with RawClient.session(address) as innocent:
        assert innocent.works()
    assert proxies(running.process.pid) == [worker]
    assert resident_bytes(worker) - before < MOST_GROWTH


def encrypt(client: RawClient, *protocols: str) -> None:
    """Do the handshake at once, naming application protocols."""
    client.socket = anonymous_tls(*protocols).wrap_socket(client.socket)


@pytest.mark.parametrize("request_", [SSLRequest(), GSSENCRequest()], ids=["TLS", "GSSAPI"])
@pytest.mark.parametrize("behind", [START, b"\x16\x03\x01", b"x"], ids=["start-up", "handshake", "garbage"])
def test_bytes_sent_along_with_the_request(client: RawClient, request_: bytes, behind: bytes) -> None:
    """They may be somebody else's in between, so that the answer is no."""
    client.send(request_ + behind)
    error = client.receive()
    assert error and error.kind == "E" and b"\0C08P01\0" in error.body
    assert client.receive() is None


@pytest.mark.parametrize("instead", [START, b"\0" * 5000, b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01"])
def test_something_else_than_a_handshake(client: RawClient, instead: bytes) -> None:
    client.send(SSLRequest())
    assert client.take(1) == b"S"
    client.send(instead)
    assert b"SCRAM" not in client.remainder()


@pytest.mark.parametrize("protocols", [[], ["http/1.1"], ["postgres"]])
def test_a_handshake_at_once_without_the_name_of_the_protocol(
    client: RawClient, protocols: list[str]
) -> None:
    """Or else another protocol's client could be led to speak this one."""
    try:
        encrypt(client, *protocols)
    except (ssl.SSLError, ConnectionError):
        return
    client.send(START)
    with pytest.raises((ssl.SSLError, ConnectionError, EOFError)):
        assert client.remainder() == b""
        raise EOFError


def test_encryption_within_encryption(client: RawClient) -> None:
    encrypt(client, "postgresql")
    client.send(SSLRequest())
    assert client.take(1) in (b"N", b"E")
    client.send(SSLRequest())
    client.remainder()


def test_a_query_before_the_login(client: RawClient) -> None:
    encrypt(client, "postgresql")
    client.send(Query("select 1"))
    assert client.remainder() == b""


def test_a_connection_cut_in_the_middle_of_a_record(client: RawClient, running: Gavial) -> None:
    encrypt(client, "postgresql")
    greeting = client.login(Address.of(running.dsn()))
    assert greeting[-1].kind == "Z"
    client.send(Query("select pg_sleep(1)"))
    client.reset()
