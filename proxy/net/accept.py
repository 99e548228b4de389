"""Where connections come in: accepts them, gives each to the least loaded worker, and leads it to its login.

A connection is looked at before it becomes a transport, because its first byte says what it is to become: a
TLS handshake (0x16), a PROXY header where those are asked for, or a start-up packet.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import socket
import ssl
from collections.abc import Callable
from typing import Final

from catalog.errors import AdminShutdown, Error, TooManyConnections
from proxy.net.channel import Channel, Closed
from proxy.net.control import Control
from proxy.net.counts import Counts
from proxy.net.login import Login, Peer, Refused
from proxy.net.relay import Relay
from proxy.net.tls import ALPN
from proxy.net.upstream import Connector
from proxy.settings import Settings
from proxy.wire import haproxy
from proxy.wire.messages import error_response

log = logging.getLogger(__name__)

_TLS_HANDSHAKE: Final = b"\x16"
_ACCEPTED_AT_ONCE: Final = 32
_REFUSALS_AT_ONCE: Final = 64
_REFUSAL_SECONDS: Final = 5.0


class Acceptor:
    """Accepts the connections of one worker, and logs their clients in."""

    def __init__(
        self,
        settings: Settings,
        tls: Callable[[], ssl.SSLContext | None],
        counts: Counts,
        colleagues: dict[int, socket.socket],
    ) -> None:
        self.relays: set[Relay] = set()
        self._settings = settings
        self._tls = tls
        self._counts = counts
        self._colleagues = colleagues
        self._connector = Connector(settings.upstream)
        self._control = Control(settings)
        self._logins: set[asyncio.Task[None]] = set()
        self._refusals = 0
        self._listeners: list[socket.socket] = []

    def open(self, listeners: list[socket.socket], handed: socket.socket) -> None:
        """Begin to accept, and to take what colleagues hand over."""
        loop = asyncio.get_running_loop()
        self._listeners = listeners
        for listener in listeners:
            loop.add_reader(listener, self._accept, listener)
        loop.add_reader(handed, self._take, handed)

    def close(self) -> None:
        """Accept no more, and end the logins under way."""
        loop = asyncio.get_running_loop()
        for listener in self._listeners:
            loop.remove_reader(listener)
            listener.close()
        for login in self._logins:
            login.cancel()

    def warm(self) -> None:
        """Start what the first statement of ours would have to wait for."""
        self._control.warm()

    @property
    def has_connections(self) -> bool:
        """Whether a client is connected or logging in."""
        return bool(self.relays or self._logins)

    def _accept(self, listener: socket.socket) -> None:
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                connection, _address = listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError as error:
                log.warning("cannot accept a connection: %s", error.strerror)
                return
            self._place(connection)

    def _place(self, connection: socket.socket) -> None:
        worker = self._counts.least_loaded()
        self._counts.assign(worker)
        colleague = self._colleagues.get(worker)
        if colleague is None:
            self._admit(connection)
            return
        try:
            socket.send_fds(colleague, [b"c"], [connection.fileno()])
        except OSError:
            self._counts.assign(worker, -1)
            self._counts.assign(self._counts.me)
            self._admit(connection)
        else:
            connection.close()

    def _take(self, handed: socket.socket) -> None:
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                _data, descriptors, _flags, _address = socket.recv_fds(handed, 1, 1)
            except BlockingIOError:
                return
            for descriptor in descriptors:
                self._admit(socket.socket(fileno=descriptor))

    def _admit(self, connection: socket.socket) -> None:
        refusal: Error | None = None
        seconds = self._settings.limits.startup_seconds
        if self._counts.total() > self._settings.limits.connections:
            if self._refusals >= _REFUSALS_AT_ONCE:
                connection.close()
                self._counts.close()
                return
            refusal = TooManyConnections(
                "sorry, too many clients already",
                detail=f"Gavial serves {self._settings.limits.connections} connections at a time.",
            )
            seconds = min(seconds, _REFUSAL_SECONDS)
        connection.setblocking(False)
        task = asyncio.get_running_loop().create_task(self._log_in(connection, refusal, seconds))
        self._logins.add(task)
        task.add_done_callback(self._logins.discard)

    async def _log_in(self, connection: socket.socket, refusal: Error | None, seconds: float) -> None:
        self._refusals += refusal is not None
        channel = Channel(trusted=False)
        relay: Relay | None = None
        try:
            async with asyncio.timeout(seconds):
                peer, direct_tls = await self._identify(connection)
                await self._connect(channel, connection, direct_tls=direct_tls)
                relay = await self._login(channel, peer, refusal).run(self._ended)
            log.debug("%s is in", peer.address)
            if relay is not None:
                self.relays.add(relay)
                relay.begin()
        except Error as error:
            tell(channel, error)
        except asyncio.CancelledError:
            tell(channel, AdminShutdown())
        except (Refused, Closed, TimeoutError, OSError, ssl.SSLError) as error:
            log.debug("a connection ended before its login: %r", error)
        finally:
            self._refusals -= refusal is not None
            if relay is None:
                channel.close() if channel.transport is not None else connection.close()
                self._counts.close()

    def _login(self, channel: Channel, peer: Peer, refusal: Error | None) -> Login:
        return Login(
            channel,
            connector=self._connector,
            control=self._control,
            tls=self._tls(),
            allow_trust=self._settings.allow_trust,
            proxy_only=self._settings.proxy_only,
            peer=peer,
            refusal=refusal,
        )

    async def _identify(self, connection: socket.socket) -> tuple[Peer, bool]:
        """Where the client comes from, and whether it begins with a TLS handshake."""
        unix = connection.family == socket.AF_UNIX
        address = "a Unix socket" if unix else str(connection.getpeername()[0])
        private = unix or ipaddress.ip_address(address.partition("%")[0]).is_loopback
        if self._settings.proxy_protocol and not unix:
            prefix = await read_exactly(connection, haproxy.PREFIX_SIZE)
            rest = await read_exactly(connection, haproxy.rest_size(prefix))
            source = haproxy.source(prefix, rest)
            if source is not None:
                address, private = source, False
        first = await receive(connection, 1, socket.MSG_PEEK)
        direct_tls = first == _TLS_HANDSHAKE and self._tls() is not None and not unix
        return Peer(address, unix=unix, private=private), direct_tls

    async def _connect(self, channel: Channel, connection: socket.socket, *, direct_tls: bool) -> None:
        if connection.family != socket.AF_UNIX:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        loop = asyncio.get_running_loop()
        context = self._tls() if direct_tls else None
        await loop.connect_accepted_socket(lambda: channel, connection, ssl=context)
        if direct_tls and channel.stream.get_extra_info("ssl_object").selected_alpn_protocol() != ALPN:
            raise Refused

    def _ended(self, relay: Relay) -> None:
        self.relays.discard(relay)
        self._counts.close()


def tell(channel: Channel, error: Error) -> None:
    """Say why the connection ends, if there is anyone to tell."""
    if channel.transport is not None and not channel.stream.is_closing():
        channel.write(error_response(error))


async def read_exactly(connection: socket.socket, size: int) -> bytes:
    """Read so many bytes of a connection that is no transport yet."""
    data = b""
    while len(data) < size:
        data += await receive(connection, size - len(data))
    return data


async def receive(connection: socket.socket, size: int, flags: int = 0) -> bytes:
    """Read at least one byte of a connection that is no transport yet."""
    loop = asyncio.get_running_loop()
    while True:
        try:
            data = connection.recv(size, flags)
        except BlockingIOError:
            readable: asyncio.Future[None] = loop.create_future()
            loop.add_reader(connection, _settle, readable)
            try:
                await readable
            finally:
                loop.remove_reader(connection)
        else:
            if not data:
                raise Closed
            return data


def _settle(readable: asyncio.Future[None]) -> None:
    if not readable.done():
        readable.set_result(None)
