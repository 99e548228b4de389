"""A client's way from its first byte to its session: TLS, start-up packet, authentication."""

from __future__ import annotations

import asyncio
import secrets
import ssl
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from catalog.errors import CannotConnectNow, Error, ProtocolViolation
from proxy.net.channel import Channel, Closed
from proxy.net.control import Control
from proxy.net.relay import Relay
from proxy.net.upstream import Connector
from proxy.wire.authentication import (
    LONGEST_ANSWER,
    Ask,
    Authenticated,
    Authentication,
    Legs,
    NeedVerifier,
    Rejected,
    Step,
    ToClient,
    ToServer,
    channel_binding_refused,
)
from proxy.wire.frames import HELD_NEWS
from proxy.wire.messages import (
    CANCEL_REQUEST,
    GSS_REQUEST,
    SSL_REQUEST,
    parse_negotiate_version,
)
from proxy.wire.session import Session
from proxy.wire.startup import LONGEST_PACKET, Startup, negotiation, parse_startup, upstream_packet

_PASSWORD: Final = ord("p")
_NEGOTIATE: Final = ord("v")
_ERROR: Final = ord("E")


@dataclass(frozen=True, slots=True)
class Peer:
    """Where a client comes from; its address as PROXY protocol tells it, if that is spoken."""

    address: str
    unix: bool
    private: bool
    """Whether what it sends cannot be read on the way: a Unix socket, or this machine's loopback."""


class Refused(Exception):
    """The connection ends here, and everything the client is to know has been sent."""


class Login:
    """Leads one client in; `run` gives its relay, not yet begun, or None where the client came to cancel."""

    def __init__(
        self,
        client: Channel,
        *,
        connector: Connector,
        control: Control,
        tls: ssl.SSLContext | None,
        allow_trust: bool,
        proxy_only: bool,
        peer: Peer,
        refusal: Error | None = None,
    ) -> None:
        self._client = client
        self._connector = connector
        self._control = control
        self._tls = tls
        self._allow_trust = allow_trust
        self._proxy_only = proxy_only
        self._peer = peer
        self._refusal = refusal

    async def run(self, on_end: Callable[[Relay], None]) -> Relay | None:
        """Log the client in; None where it came to cancel a statement."""
        asked = await self._first_packet()
        if asked is None:
            return None
        startup = parse_startup(*asked)
        if self._refusal is not None:
            raise self._refusal
        nonce = None if startup.replicating else secrets.token_hex(8)
        packet = upstream_packet(startup, nonce, waits=not self._proxy_only)
        if len(packet) > LONGEST_PACKET:
            nonce, packet = None, upstream_packet(startup, None)
        server, upstream_tls, first = await self._reach_server(packet)
        try:
            await self._authenticate(startup, server, upstream_tls, first)
        except BaseException:
            server.close()
            raise
        session = Session(nonce, startup.database) if nonce is not None else None
        return Relay(self._client, server, session, self._control, on_end)

    async def _first_packet(self) -> tuple[int, bytes] | None:
        """Version and body of the start-up packet; None when the client came to cancel."""
        encryption_asked: set[int] = set()
        while True:
            (length,) = struct.unpack("!I", await self._client.read(4))
            if not 8 <= length <= LONGEST_PACKET:
                raise Refused
            (code,) = struct.unpack("!I", await self._client.read(4))
            if code in (SSL_REQUEST, GSS_REQUEST) and length == 8 and code not in encryption_asked:
                encryption_asked.add(code)
                await self._encrypt(code)
                continue
            body = await self._client.read(length - 8)
            if code == CANCEL_REQUEST:
                await self._connector.cancel(struct.pack("!II", length, code) + body)
                return None
            if code >> 16 == 2:
                self._client.write(
                    b"EFATAL:  unsupported frontend protocol 2.0: server supports 3.0 to 3.2\n\x00"
                )
                raise Refused
            return code, body

    async def _encrypt(self, code: int) -> None:
        """Answer a request for encryption; bytes sent before the answer end the connection."""
        if self._client.buffered:
            raise ProtocolViolation(
                "received unencrypted data after SSL request"
                if code == SSL_REQUEST
                else "received unencrypted data after GSSAPI encryption request",
                detail="This could be either a client-software bug or evidence of an attempted "
                "man-in-the-middle attack.",
            )
        secured = self._client.stream.get_extra_info("sslcontext") is not None
        if code == GSS_REQUEST or self._tls is None or self._peer.unix or secured:
            self._client.write(b"N")
            return
        stream = self._client.stream
        stream.write(b"S")
        try:
            transport = await asyncio.get_running_loop().start_tls(
                stream, self._client, self._tls, server_side=True
            )
        except (OSError, ssl.SSLError):
            raise Refused from None
        assert transport is not None
        self._client.transport = transport

    async def _reach_server(self, packet: bytes) -> tuple[Channel, bool, tuple[int, bytes]]:
        """A server connection, whether it has TLS, and its first word."""
        attempts = self._connector.attempts
        for number, tls in enumerate(attempts, start=1):
            server, encrypted = await self._connector.open(tls=tls)
            try:
                server.write(packet)
                first = await self._from_server(server)
            except BaseException:
                server.close()
                raise
            if first[0] == _ERROR and number < len(attempts) and encrypted == tls:
                server.close()
                continue
            return server, encrypted, first
        raise AssertionError("the last attempt is always taken")

    async def _authenticate(
        self, startup: Startup, server: Channel, upstream_tls: bool, first: tuple[int, bytes]
    ) -> None:
        client_tls = self._client.stream.get_extra_info("sslcontext") is not None
        legs = Legs(client_tls=client_tls, client_local=self._peer.private, upstream_tls=upstream_tls)
        machine = Authentication(startup.user, legs, allow_trust=self._allow_trust)
        answer = None
        kind, body = first
        if kind == _NEGOTIATE:
            answer = parse_negotiate_version(body)
            kind, body = await self._from_server(server)
        if kind != _ERROR:
            self._client.write(negotiation(startup, answer))
        while not await self._follow(machine, machine.from_server(kind, body), server, startup.user):
            kind, body = await self._from_server(server)

    async def _follow(
        self, machine: Authentication, steps: Iterable[Step], server: Channel, user: str
    ) -> bool:
        """Do what the machine says; whether the client is in."""
        for step in steps:
            match step:
                case ToClient(data=data):
                    self._client.write(data)
                case ToServer(data=data):
                    server.write(data)
                case Ask(data=data, answer=answer):
                    self._client.write(data)
                    kind, body = await self._client.read_message(LONGEST_ANSWER)
                    if kind != _PASSWORD:
                        raise ProtocolViolation(f"expected {answer} response, got message type {kind}")
                    await self._follow(machine, machine.from_client(body), server, user)
                case NeedVerifier():
                    verifier = await self._control.verifier(user)
                    if verifier is None:
                        raise channel_binding_refused()
                    await self._follow(machine, machine.use_verifier(verifier), server, user)
                case Rejected(data=data):
                    self._client.write(data)
                    raise Refused
                case Authenticated():
                    return True
        return False

    async def _from_server(self, server: Channel) -> tuple[int, bytes]:
        try:
            return await server.read_message(HELD_NEWS)
        except Closed:
            raise CannotConnectNow("the PostgreSQL server closed the connection during start-up") from None
