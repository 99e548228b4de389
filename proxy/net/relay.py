"""One session after its login: two transports, and the bytes between them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias

from catalog.errors import ConnectionFailure, Error
from proxy.net.channel import Channel
from proxy.net.control import Control
from proxy.wire.frames import ClientFrames, ServerFrames
from proxy.wire.messages import TERMINATE, error_response
from proxy.wire.session import Question, Request, Run, Session
from proxy.wire.states import ClientEvent, SessionState, Statement, StatementEvent, Text, TextEvent

_HELD_BYTES: Final = 1 << 18
"""What is kept for a peer that does not read before the other one has to wait."""

_LARGE_TEXT: Final = 1 << 14
"""A text longer than this is scanned off the loop."""

_LINGER_SECONDS: Final = 30
_IDLE, _ERROR = b"IE"


class Relay:
    """Passes bytes both ways until either side ends; whoever does not read makes only the other side wait."""

    __slots__ = (
        "_channels",
        "_control",
        "_on_end",
        "_open_sides",
        "_request_task",
        "_rewriting_task",
        "client",
        "server",
        "session",
        "state",
    )

    def __init__(
        self,
        client: Channel,
        server: Channel,
        session: Session | None,
        control: Control,
        on_end: Callable[[Relay], None],
    ) -> None:
        self.session = session
        self.state = SessionState() if session is None else session.state
        self.server = ServerSide(server.stream, client.stream, self)
        self.client = ClientSide(client.stream, server.stream, self)
        self._channels = (client, server)
        self._control = control
        self._on_end = on_end
        self._open_sides = 2
        self._rewriting_task: asyncio.Task[None] | None = None
        self._request_task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Take the connections over, with what has arrived on them already."""
        client, server = self._channels
        sides: tuple[tuple[Side, Channel], ...] = ((self.server, server), (self.client, client))
        for side, channel in sides:
            waiting = channel.hand_over(side)
            if channel.lost:
                side.connection_lost(None)
                continue
            side.transport.set_write_buffer_limits(high=_HELD_BYTES)
            if waiting:
                side.data_received(waiting)
            side.transport.resume_reading()

    @property
    def idle(self) -> bool:
        """Whether nothing is under way: outside a transaction, every message answered."""
        return self.server.frames.status == _IDLE and self.client.frames.at_message_start

    def end(self, error: Error) -> None:
        """Tell the client why, if a message can begin here, and close both sides."""
        expected = self.state.end_is_expected
        self.state.client.step(ClientEvent.CLOSE)
        if self.server.frames.at_message_start and not self.client.transport.is_closing():
            self.client.transport.write(error_response(error))
        if self.client.frames.at_message_start and not expected and not self.server.transport.is_closing():
            self.server.transport.write(TERMINATE)
        close(self.client.transport)
        close(self.server.transport)

    def rewrite_suspects(self, session: Session) -> None:
        """Deal with the suspects that the client's stream has stopped at."""
        self._watch_server(session)
        text, frames = self.state.text, self.client.frames
        while text.state is Text.HELD and (suspect := frames.suspect) is not None:
            rewritten = None
            if len(suspect) <= _LARGE_TEXT:
                rewritten = session.rewritten(suspect, busy=self._busy, alone=frames.suspect_is_alone)
                if rewritten is None:
                    self._forward(frames.release(suspect))
                    continue
            text.step(TextEvent.READ)
            self.client.transport.pause_reading()
            self._rewriting_task = asyncio.get_running_loop().create_task(
                self._rewrite_suspects(session, rewritten)
            )

    async def _rewrite_suspects(self, session: Session, rewritten: bytes | None) -> None:
        text, frames = self.state.text, self.client.frames
        while (suspect := frames.suspect) is not None:
            if text.state is Text.HELD:
                text.step(TextEvent.READ)
            replacement = await self._replacement(session, suspect, rewritten)
            rewritten = None
            if self.server.transport.is_closing():
                return
            self._forward(frames.release(replacement))
        self.client.let_read()

    async def _replacement(self, session: Session, suspect: bytes, rewritten: bytes | None) -> bytes:
        """What to send for a suspect: itself, unless it is ours and the database can answer it."""
        rewrite = partial(
            session.rewritten, suspect, busy=self._busy, alone=self.client.frames.suspect_is_alone
        )
        if len(suspect) > _LARGE_TEXT:
            rewritten = await asyncio.get_running_loop().run_in_executor(None, rewrite)
        elif rewritten is None:
            rewritten = rewrite()
        if rewritten is None:
            return suspect
        refused = await self._control.prepare(session.database)
        return rewritten if refused is None else rewrite(refused=refused) or suspect

    def _watch_server(self, session: Session) -> None:
        if self.state.statement.state is Statement.UNWATCHED:
            self.state.statement.step(StatementEvent.WATCH)
            self.server.frames.watcher = partial(self._watch, session)

    def _watch(self, session: Session, kind: int, frame: bytes) -> bytes:
        """Show the session a message of the server's; begin or end an answer when it asks or has heard."""
        request = session.request
        out = session.watch(kind, frame)
        self.server.frames.rows_wanted = session.expects_explanation
        if session.request is not request:
            if self._request_task is not None:
                self._request_task.cancel()
                self._request_task = None
            if session.request is not None:
                self._request_task = asyncio.get_running_loop().create_task(
                    self._serve_request(session, session.request)
                )
        return out

    async def _serve_request(self, session: Session, request: Request) -> None:
        """Answer what a statement asks, until it has heard the answer or ends."""
        match request:
            case Run(kind=kind, target=target, run=run, process=process):
                in_block = self.server.frames.last_ready_status != _IDLE
                await self._control.run(kind, session.database, target, run, process, in_block=in_block)
            case Question(text=text):
                await self._control.answer(session.database, text, session.prepare)

    def _forward(self, data: bytes) -> None:
        self.server.frames.status = 0
        self.server.transport.write(data)

    @property
    def _busy(self) -> bool:
        """Whether the server has not answered yet, and may be about to change how texts are read."""
        return self.server.frames.status == 0

    def closed(self) -> None:
        """Note that one side has closed its connection."""
        self._open_sides -= 1
        if self._open_sides == 0:
            for task in (self._rewriting_task, self._request_task):
                if task is not None:
                    task.cancel()
            self._on_end(self)


class ClientSide(asyncio.Protocol):
    """The client's end."""

    __slots__ = ("_relay", "_server_frames", "_server_is_full", "frames", "peer", "transport")

    def __init__(self, transport: asyncio.Transport, peer: asyncio.Transport, relay: Relay) -> None:
        self.transport = transport
        self.peer = peer
        self.frames = ClientFrames(relay.state, intercepting=relay.session is not None)
        self._server_frames = relay.server.frames
        self._relay = relay
        self._server_is_full = False

    def data_received(self, data: bytes) -> None:
        """Called by the loop."""
        frames = self.frames
        out = frames.receive(data)
        if out and not self.peer.is_closing():
            self._server_frames.status = 0
            self.peer.write(out)
        if frames.suspect is not None and (session := self._relay.session) is not None:
            self._relay.rewrite_suspects(session)

    def eof_received(self) -> bool:
        """Called by the loop: a client may close its half and still read what the server has to say."""
        self._relay.state.client.step(ClientEvent.CLOSE_HALF)
        if not self.peer.is_closing():
            self.peer.write(self.frames.give_up())
        if self.transport.get_extra_info("sslcontext") is None and self.peer.can_write_eof():
            if not self.peer.is_closing():
                self.peer.write_eof()
            return True
        close(self.peer)
        return False

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Called by the loop."""
        self._relay.state.client.step(ClientEvent.CLOSE)
        close(self.peer)
        self._relay.closed()

    def pause_writing(self) -> None:
        """Called by the loop: the client does not read."""
        self.peer.pause_reading()

    def resume_writing(self) -> None:
        """Called by the loop."""
        if not self.peer.is_closing():
            self.peer.resume_reading()

    def hold_back(self, *, server_is_full: bool) -> None:
        """The server cannot take more for now, or can again."""
        self._server_is_full = server_is_full
        if server_is_full:
            self.transport.pause_reading()
        else:
            self.let_read()

    def let_read(self) -> None:
        """Read on, unless the server is crowded or a statement of ours is being looked at."""
        if (
            not self._server_is_full
            and self._relay.state.text.state is Text.PASSING
            and not self.transport.is_closing()
        ):
            self.transport.resume_reading()


class ServerSide(asyncio.Protocol):
    """The server's end."""

    __slots__ = ("_relay", "frames", "peer", "transport")

    def __init__(self, transport: asyncio.Transport, peer: asyncio.Transport, relay: Relay) -> None:
        self.transport = transport
        self.peer = peer
        self.frames = ServerFrames(relay.session.parameter if relay.session is not None else _ignore)
        self._relay = relay

    def data_received(self, data: bytes) -> None:
        """Called by the loop."""
        if not self.peer.is_closing():
            frames = self.frames
            self.peer.write(frames.receive(data))
            if frames.violation is not None:
                self._relay.end(frames.violation)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Called by the loop: what the server said is the last word, unless it went in silence."""
        frames = self.frames
        if not (self._relay.state.end_is_expected or self.peer.is_closing()):
            complete = frames.at_message_start and self._relay.client.frames.at_message_start
            if complete and frames.last_kind != _ERROR:
                self.peer.write(
                    error_response(ConnectionFailure("the PostgreSQL server closed the connection"))
                )
        close(self.peer)
        self._relay.closed()

    def pause_writing(self) -> None:
        """Called by the loop: the server does not read."""
        self._relay.client.hold_back(server_is_full=True)

    def resume_writing(self) -> None:
        """Called by the loop."""
        self._relay.client.hold_back(server_is_full=False)


Side: TypeAlias = ClientSide | ServerSide


def close(transport: asyncio.Transport) -> None:
    """Close when what is written has been taken; a peer that takes nothing is cut off in the end."""
    if transport.is_closing():
        return
    pending = transport.get_write_buffer_size()
    transport.close()
    if pending:
        asyncio.get_running_loop().call_later(_LINGER_SECONDS, transport.abort)


def _ignore(_body: bytes) -> None:
    """Parameters matter only where statements of ours may come."""
