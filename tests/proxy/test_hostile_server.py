"""A server that lies, breaks off or never stops harms nobody but its own client (G17, G21)."""

from __future__ import annotations

import itertools
import socket
import socketserver
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from tests.support.running.processes import proxies, resident_bytes
from tests.support.running.servers import Gavial, gavial
from tests.support.wire.client_messages import Message, Query
from tests.support.wire.raw_client import Address, RawClient, startup

pytestmark = pytest.mark.service

STARTUP_SECONDS = 3
MOST_GROWTH = 24 << 20


def authentication(code: int, rest: bytes = b"") -> bytes:
    """An authentication request."""
    return Message("R", struct.pack("!i", code) + rest)


OK = authentication(0)
READY = Message("Z", "I")
LET_IN = OK + Message("S", "client_encoding\0UTF8\0") + READY
FATAL = Message("E", "SFATAL\0VFATAL\0C53300\0Mno\0\0")

BEFORE_LOGIN: dict[str, bytes] = {
    "says nothing and closes": b"",
    "closes in the middle of a header": b"R\0\0",
    "closes in the middle of a message": Message("R", "\0\0\0\0", length=100),
    "sends a length of nothing": Message("R", length=0),
    "sends a negative length": Message("R", "\0\0\0\0", length=-1),
    "announces two gigabytes": Message("R", "\0\0\0\0", length=0x7FFFFFFF),
    "announces a gigabyte of an error": Message("E", "SFATAL\0", length=0x3FFFFFFF),
    "sends an error without fields": Message("E", "\0"),
    "sends an error without a terminator": Message("E", "SFATAL"),
    "sends an error of nothing": Message("E"),
    "sends an error that is not text": Message("E", b"M\xff\xfe\0C\xff\0\0"),
    "asks for an unknown authentication": authentication(99),
    "asks for Kerberos": authentication(7),
    "asks with half a number": Message("R", "\0\0"),
    "offers no mechanism": authentication(10),
    "offers a mechanism without an end": authentication(10, b"SCRAM-SHA-256"),
    "goes on where nothing began": authentication(11, b"r=x,s=x,i=1"),
    "ends where nothing began": authentication(12, b"v=x"),
    "sends rows": Message("D", "\0\0"),
    "is ready at once": READY,
    "speaks another protocol": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "sends zeros": bytes(1000),
    "negotiates half a version": Message("v", "\0\0"),
    "negotiates an unknown version": Message("v", struct.pack("!ii", 0x7FFFFFFF, 0)) + FATAL,
    "negotiates two thousand million options": Message("v", struct.pack("!ii", 196608, 0x7FFFFFFF)) + FATAL,
}  # fmt: skip
"""What a server answers to the start-up packet, before it closes."""

AFTER_LOGIN: dict[str, bytes] = {
    "closes": b"",
    "closes in the middle of a header": b"D\0\0",
    "closes in the middle of a row": Message("D", "\0\1", length=100),
    "sends a length of nothing": Message("D", length=0),
    "sends a negative length": Message("D", length=-1),
    "announces two gigabytes": Message("D", length=0x7FFFFFFF),
    "announces a gigabyte of a parameter": Message("S", "TimeZone\0", length=0x3FFFFFFF),
    "sends an error without fields": Message("E", "\0") + READY,
    "sends an error of nothing": Message("E") + READY,
    "is ready without a state": Message("Z"),
    "is ready in an unknown state": Message("Z", "?"),
    "sends a parameter without a value": Message("S", "TimeZone") + READY,
    "sends a parameter that is not text": Message("S", b"client_encoding\0\xff\xff\0") + READY,
    "sends an unknown type": Message("\x00", "abc") + READY,
    "completes without a tag": Message("C") + READY,
    "sends a notice of nothing": Message("N") + READY,
    "sends the mark of a statement of ours": Message("N", "CGV001\0Mnonce\0DSHOW\0\0") + READY,
}  # fmt: skip
"""What a server answers to the first query, before it closes."""

ENDLESS: dict[str, tuple[bytes, bytes]] = {
    "parameters before it lets anybody in": (b"", Message("S", "TimeZone\0UTC\0")),
    "notices before it lets anybody in": (b"", Message("N", "SNOTICE\0C00000\0Mx\0\0")),
    "negotiations": (b"", Message("v", struct.pack("!ii", 196608, 0))),
    "challenges": (b"", authentication(11, b"r=x,s=x,i=1")),
    "parameters": (OK, Message("S", "TimeZone\0UTC\0")),
    "notices": (LET_IN, Message("N", "SNOTICE\0C00000\0Mx\0\0")),
    "rows": (LET_IN, Message("D", "\0\1\0\0\3\xe8" + "x" * 1000)),
    "bytes of one row": (LET_IN + Message("D", length=0x7FFFFFFF), b"x" * 1000),
}
"""What a server says first, and then again and again."""


class Liar(socketserver.BaseRequestHandler):
    """Behaves as the user's name in the start-up packet says."""

    def handle(self) -> None:
        """Called by the server in a thread of its own."""
        connection: socket.socket = self.request
        with suppress(OSError):
            while (packet := packet_of(connection)) and packet[:4] == struct.pack("!I", 80877103):
                connection.sendall(b"N")
            when, _, how = packet[4:].split(b"\0")[1].decode().partition(": ")
            match when:
                case "before":
                    connection.sendall(BEFORE_LOGIN[how])
                case "after":
                    connection.sendall(LET_IN)
                    connection.recv(1000)
                    connection.sendall(AFTER_LOGIN[how])
                case "endless":
                    first, again = ENDLESS[how]
                    connection.sendall(first)
                    for _ in itertools.repeat(None):
                        connection.sendall(again * 1000)
                case _:
                    connection.sendall(LET_IN)
                    while connection.recv(1000):
                        connection.sendall(Message("C", "SELECT 1\0") + READY)


def packet_of(connection: socket.socket) -> bytes:
    """A start-up packet without its length."""
    return connection.recv(struct.unpack("!I", connection.recv(4, socket.MSG_WAITALL))[0] - 4)


class Liars(socketserver.ThreadingTCPServer):
    """The server behind the proxy under test."""

    daemon_threads = True
    request_queue_size = 100


@pytest.fixture(scope="module")
def running() -> Iterator[Gavial]:
    with Liars(("127.0.0.1", 0), Liar) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            upstream = f"postgresql://gavial:x@127.0.0.1:{server.server_address[1]}/postgres?sslmode=disable"
            options = ("--allow-trust", "--startup-seconds", str(STARTUP_SECONDS), "--workers", "1")
            with gavial("--upstream", upstream, *options) as running:
                yield running
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def client(running: Gavial, user: str) -> Iterator[RawClient]:
    """A connection that has said who it is."""
    address = Address.of(running.dsn())
    with RawClient(address.host, address.port) as raw:
        raw.send(startup(user=user, database="postgres"))
        yield raw


@pytest.fixture(autouse=True)
def unharmed(running: Gavial) -> Iterator[None]:
    """Afterwards the proxy is no larger, and another client's session goes on."""
    (worker,) = proxies(running.process.pid)
    before = resident_bytes(worker)
    with client(running, "honest") as innocent:
        innocent.until("Z")
        yield
        innocent.send(Query("select 1"))
        assert [message.kind for message in innocent.until("Z")] == ["C", "Z"]
    assert proxies(running.process.pid) == [worker]
    assert resident_bytes(worker) - before < MOST_GROWTH
    assert "Traceback" not in running.log.read_text()


@pytest.mark.parametrize("how", BEFORE_LOGIN)
def test_before_the_login(running: Gavial, how: str) -> None:
    """The client gets one well-formed error at most; the message is the server's or says that it is not."""
    with client(running, f"before: {how}") as raw:
        messages = list(raw)
        errors = [message for message in messages if message.kind == "E"]
        assert errors[1:] == []
        assert not any(message.kind in "ZDK" for message in messages)


@pytest.mark.parametrize("how", AFTER_LOGIN)
def test_after_the_login(running: Gavial, how: str) -> None:
    """The client gets what the server said, but for a broken end, and then the end of the stream."""
    said = AFTER_LOGIN[how]
    with client(running, f"after: {how}") as raw:
        raw.until("Z")
        raw.send(Query("select 1"))
        received = raw.remainder()
        assert said[: len(received)] == received[: len(said)]
        assert received.startswith(said) or not said.endswith(READY)


@pytest.mark.parametrize("how", ENDLESS)
def test_without_end(running: Gavial, how: str) -> None:
    """A client that stays is fed, or sent away in time; the proxy keeps nothing of it."""
    (worker,) = proxies(running.process.pid)
    before = resident_bytes(worker)
    with client(running, f"endless: {how}") as raw:
        read: Callable[[int], bytes] = raw.socket.recv
        with suppress(ConnectionResetError):
            for _ in range(2000):
                if not read(1 << 16):
                    break
        assert resident_bytes(worker) - before < MOST_GROWTH
