"""Connections to the server behind the proxy: for sessions, and for cancel requests."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from typing import Final

from catalog.errors import CannotConnectNow, ConnectionFailure
from proxy.net.channel import Channel, Closed
from proxy.net.tls import upstream_context
from proxy.settings import Upstream
from proxy.wire.messages import SSL_REQUEST

_ASK_FOR_TLS: Final = struct.pack("!II", 8, SSL_REQUEST)
_CANCEL_SECONDS: Final = 10


class Connector:
    """Opens connections as the upstream's sslmode wants them."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        tls_possible = upstream.socket_path is None and upstream.sslmode != "disable"
        self._context = upstream_context(upstream) if tls_possible else None

    @property
    def attempts(self) -> tuple[bool, ...]:
        """Whether to try with TLS or without, in order, until the server does more than refuse."""
        if self._context is None:
            return (False,)
        match self._upstream.sslmode:
            case "allow":
                return (False, True)
            case "prefer":
                return (True, False)
            case _:
                return (True,)

    async def open(self, *, tls: bool) -> tuple[Channel, bool]:
        """A connection, and whether it has TLS after all (`prefer` takes no for an answer)."""
        channel = await self._connect()
        if not tls or self._context is None:
            return channel, False
        channel.write(_ASK_FOR_TLS)
        try:
            answer = await channel.read(1)
        except Closed:
            raise CannotConnectNow("the PostgreSQL server closed the connection") from None
        if answer == b"S" and not channel.buffered:
            await self._start_tls(channel, self._context)
            return channel, True
        if answer == b"N" and self._upstream.sslmode == "prefer" and not channel.buffered:
            return channel, False
        channel.close()
        raise ConnectionFailure("the PostgreSQL server does not support TLS, but --upstream requires it")

    async def cancel(self, packet: bytes) -> None:
        """Pass a cancel request on, and return when the server has dealt with it."""
        async with asyncio.timeout(_CANCEL_SECONDS):
            channel, _ = await self.open(tls=self.attempts[0])
            try:
                channel.write(packet)
                await channel.until_closed()
            finally:
                channel.close()

    async def _connect(self) -> Channel:
        loop = asyncio.get_running_loop()
        path = self._upstream.socket_path
        try:
            if path is not None:
                _, channel = await loop.create_unix_connection(Channel, path)
            else:
                transport, channel = await loop.create_connection(
                    Channel, self._upstream.host, self._upstream.port
                )
                connection = transport.get_extra_info("socket")
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        except OSError as error:
            raise CannotConnectNow(
                "the PostgreSQL server is not reachable",
                detail=error.strerror or str(error),
                hint="Try again in a moment.",
            ) from None
        return channel

    async def _start_tls(self, channel: Channel, context: ssl.SSLContext) -> None:
        loop = asyncio.get_running_loop()
        try:
            transport = await loop.start_tls(
                channel.stream, channel, context, server_hostname=self._upstream.host
            )
        except (OSError, ssl.SSLError) as error:
            channel.close()
            reason = getattr(error, "verify_message", "") or getattr(error, "reason", "") or str(error)
            raise ConnectionFailure(
                "the TLS connection to the PostgreSQL server failed", detail=str(reason)
            ) from None
        assert transport is not None
        channel.transport = transport
