"""A PostgreSQL connection on which every byte sent, and every message received, is the test's own."""

from __future__ import annotations

import base64
import functools
import hashlib
import hmac
import secrets
import socket
import ssl
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from psycopg.conninfo import conninfo_to_dict

from tests.support.running.servers import wait_until
from tests.support.wire.client_messages import Query, SSLRequest

SECONDS = 60.0  # against hanging only
PROTOCOL_3_0 = 196608
PROTOCOL_3_2 = 196610


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the server: its type, as a letter, and its body without the length."""

    kind: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Address:
    """Where to connect, and as whom."""

    host: str
    port: int
    user: str
    password: str
    database: str
    tls: bool = False

    @classmethod
    def of(cls, dsn: str) -> Self:
        """The address that a connection string names."""
        found = {key: str(value) for key, value in conninfo_to_dict(dsn).items()}
        return cls(found["host"], int(found["port"]), found["user"], found["password"], found["dbname"])

    def connect(self) -> RawClient:
        """A connection, encrypted if it is to be."""
        client = RawClient(self.host, self.port)
        if self.tls:
            client.encrypt()
        return client


class RawClient:
    """A TCP connection; nothing is sent or answered that the caller did not ask for, but for `login`."""

    def __init__(self, host: str, port: int) -> None:
        self.socket = socket.create_connection((host, port), timeout=SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = bytearray()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @staticmethod
    def session(address: Address, version: int = PROTOCOL_3_0, **parameters: str) -> RawClient:
        """A connection that has logged in and is idle."""
        client = address.connect()
        greeting = client.login(address, version, **parameters)
        assert greeting and greeting[-1].kind == "Z", greeting
        return client

    def encrypt(self) -> None:
        """Ask for TLS, and trust whoever agrees."""
        self.send(SSLRequest())
        assert self.take(1) == b"S"
        self.socket = anonymous_tls().wrap_socket(self.socket)

    def send(self, data: bytes) -> None:
        """Send all of it; a peer that has gone away shows when reading."""
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
            return

    def end(self) -> None:
        """Say that nothing more will be sent; reading goes on."""
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            return

    def reset(self) -> None:
        """Break the connection off with a RST."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def close(self) -> None:
        """Close at once, without Terminate."""
        self.socket.close()

    def take(self, count: int) -> bytes | None:
        """The next bytes outside of any message; None when the stream ends before them."""
        while len(self._received) < count:
            if not self._receive_more(count - len(self._received)):
                return None
        taken = bytes(self._received[:count])
        del self._received[:count]
        return taken

    def remainder(self) -> bytes:
        """Everything up to the end of the stream."""
        while self._receive_more(65536):
            pass
        return bytes(self._received)

    def _receive_more(self, wanted: int) -> bool:
        try:
            chunk = self.socket.recv(max(65536, wanted))
        except ConnectionResetError:
            return False
        self._received += chunk
        return bool(chunk)

    def receive(self) -> Message | None:
        """The next message; None at the end of the stream, wherever it ends."""
        header = self.take(5)
        if header is None:
            return None
        body = self.take(struct.unpack("!i", header[1:])[0] - 4)
        return None if body is None else Message(chr(header[0]), body)

    def until(self, kind: str, count: int = 1) -> list[Message]:
        """Messages up to and including the n-th of a type, or up to the end of the stream."""
        messages: list[Message] = []
        for message in self:
            messages.append(message)
            count -= message.kind == kind
            if count == 0:
                break
        return messages

    def __iter__(self) -> Iterator[Message]:
        while (message := self.receive()) is not None:
            yield message

    def works(self) -> bool:
        """Whether the session answers a query as it should."""
        self.send(Query("select 1"))
        return [message.kind for message in self.until("Z")] == ["T", "D", "C", "Z"]

    def login(self, address: Address, version: int = PROTOCOL_3_0, **parameters: str) -> list[Message]:
        """Start a session with SCRAM; what came besides SCRAM, up to ReadyForQuery or the end."""
        self.send(startup(version, **{"user": address.user, "database": address.database, **parameters}))
        messages: list[Message] = []
        exchange = Scram(address.password)
        for message in self:
            if message.kind == "R" and message.body[:4] != bytes(4):
                self.send(exchange.answer(message.body))
                continue
            messages.append(message)
            if message.kind == "Z":
                break
        return messages


@contextmanager
def sessions(address: Address, count: int) -> Iterator[list[RawClient]]:
    """So many sessions, as soon as there is room: a client that has gone is counted a moment longer."""
    with ExitStack() as stack:
        clients: list[RawClient] = []

        def one_more() -> bool:
            client = stack.enter_context(address.connect())
            let_in = client.login(address)[-1:] and client.works()
            clients.extend([client] if let_in else [])
            return len(clients) == count

        wait_until(one_more, "there is no room")
        yield clients


class Scram:
    """The client's half of one SCRAM-SHA-256 exchange, without channel binding."""

    def __init__(self, password: str) -> None:
        self._password = password
        self._first = f"n=,r={secrets.token_urlsafe(18)}"

    def answer(self, request: bytes) -> bytes:
        """The message that answers an authentication request; nothing for the final one."""
        match struct.unpack("!i", request[:4])[0]:
            case 10:
                data = f"n,,{self._first}".encode()
                body = b"SCRAM-SHA-256\0" + struct.pack("!i", len(data)) + data
            case 11:
                body = self._proof(request[4:].decode())
            case 12:
                return b""
            case other:
                raise AssertionError(f"authentication request {other}")
        return b"p" + struct.pack("!i", len(body) + 4) + body

    def _proof(self, server_first: str) -> bytes:
        fields = dict(part.split("=", 1) for part in server_first.split(","))
        salted = salted_password(self._password, base64.b64decode(fields["s"]), int(fields["i"]))
        without_proof = f"c=biws,r={fields['r']}"
        signed = f"{self._first},{server_first},{without_proof}".encode()
        client_key = hmac.digest(salted, b"Client Key", "sha256")
        signature = hmac.digest(hashlib.sha256(client_key).digest(), signed, "sha256")
        proof = bytes(key ^ sign for key, sign in zip(client_key, signature, strict=True))
        return f"{without_proof},p={base64.b64encode(proof).decode()}".encode()


@functools.lru_cache
def salted_password(password: str, salt: bytes, iterations: int) -> bytes:
    """The slow part of SCRAM, the same for every login of one role."""
    return hashlib.pbkdf2_hmac("sha256", password.encode(), salt, iterations)


def anonymous_tls(*protocols: str) -> ssl.SSLContext:
    """Encryption without any check of who is there, naming application protocols."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(protocols)
    return context


def startup(version: int = PROTOCOL_3_0, **parameters: str) -> bytes:
    """A start-up packet."""
    pairs = b"".join(f"{key}\0{value}\0".encode() for key, value in parameters.items())
    return struct.pack("!ii", len(pairs) + 9, version) + pairs + b"\0"
