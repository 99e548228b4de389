"""Bytes of one connection in exact amounts, until the session's relay takes over."""

from __future__ import annotations

import asyncio
from typing import Final, cast

from catalog.errors import ProtocolViolation
from proxy.wire.frames import header

_READ_AHEAD: Final = 70_000
"""More than the longest answer to an authentication request: whoever sends more at once was not asked to."""


class Closed(Exception):
    """The peer closed the connection."""


class Channel(asyncio.Protocol):
    """A connection read on demand.

    A peer that sends much more than it was asked for is made to wait; where it is not trusted, it is cut off.
    """

    def __init__(self, *, trusted: bool = True) -> None:
        self._trusted = trusted
        self.transport: asyncio.Transport | None = None
        self.lost = False
        """Whether the connection is gone, and its protocol has been told."""
        self._buffer = bytearray()
        self._closed = False
        self._arrival: asyncio.Future[None] | None = None

    @property
    def stream(self) -> asyncio.Transport:
        """The transport; there is one as soon as the connection is made."""
        assert self.transport is not None
        return self.transport

    @property
    def buffered(self) -> bool:
        """Whether bytes have arrived that nobody asked for yet."""
        return bool(self._buffer)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the loop; again after TLS is negotiated."""
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Called by the loop."""
        self._buffer += data
        if len(self._buffer) > _READ_AHEAD:
            if self._trusted:
                self.stream.pause_reading()
            else:
                self._buffer.clear()
                self.stream.abort()
        self._wake()

    def eof_received(self) -> None:
        """Called by the loop; a half-closed connection cannot be logged in."""
        self._closed = True
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Called by the loop."""
        self.lost = self._closed = True
        self._wake()

    def write(self, data: bytes) -> None:
        """Send; to a peer that is gone, nothing: the next read will tell."""
        if not self.lost:
            self.stream.write(data)

    def close(self) -> None:
        """Send what is left, then close."""
        if self.transport is not None:
            self.transport.close()

    def hand_over(self, protocol: asyncio.Protocol) -> bytes:
        """Let another protocol have the connection; what has arrived and was not read is returned."""
        data = bytes(self._buffer)
        self._buffer.clear()
        self.stream.set_protocol(protocol)
        return data

    async def read(self, size: int) -> bytes:
        """Exactly so many bytes."""
        while len(self._buffer) < size:
            if self._closed:
                raise Closed
            self._arrival = asyncio.get_running_loop().create_future()
            await self._arrival
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        if len(self._buffer) <= _READ_AHEAD and not self.stream.is_closing():
            self.stream.resume_reading()
        return data

    async def read_message(self, longest: int) -> tuple[int, bytes]:
        """Type and body of one message; its length is checked before anything is kept."""
        kind, length = header(await self.read(5), 0)
        if not 4 <= length <= longest:
            raise ProtocolViolation("invalid message length")
        return kind, await self.read(length - 4)

    async def until_closed(self) -> None:
        """Wait for the peer to close, dropping what it sends."""
        while not self._closed:
            self._buffer.clear()
            self._arrival = asyncio.get_running_loop().create_future()
            await self._arrival

    def _wake(self) -> None:
        if self._arrival is not None and not self._arrival.done():
            self._arrival.set_result(None)
