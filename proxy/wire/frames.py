"""Walks both directions of a session by message headers alone; pure, and the hot path of the proxy.

A frame of known length is copied blindly: what comes out is what went in, unless a statement of ours
is on its way, or an error or notice names a hidden view (`proxy/wire/query_names.py`).
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from typing import Final

from catalog.errors import ProtocolViolation
from proxy.wire.query_names import with_query_names
from proxy.wire.states import Client, ClientEvent, SessionState, TextEvent

header: Final = struct.Struct("!BI").unpack_from

SMALL_MESSAGE: Final = 10_000
"""PostgreSQL closes the connection when a message that carries no data of the user's is longer than this."""

HELD_TEXT: Final = 1 << 20
"""A Query or Parse longer than this is never held back to be read; it passes as it comes."""

HELD_NEWS: Final = 1 << 16
"""A server message longer than this is never held back to be read."""

_BUSY: Final = 0
_TERMINATE: Final = ord("X")
_READY, _PARAMETER, _NOTICE, _COMPLETE, _ERROR, _SUSPENDED = b"ZSNCEs"
_NEWS: Final = frozenset((_PARAMETER, _NOTICE, _ERROR))
_TEXT: Final = frozenset(b"QP")
_PARSE, _EXECUTE, _SYNC, _ROW = b"PESD"
_AROUND_EXECUTE: Final = frozenset(b"BDECH")
_DATA: Final = frozenset(b"Dd")
_LARGE: Final = frozenset(b"QPFBd")
_KNOWN: Final = frozenset(b"QPBEDCSHFXdcf")
"""What a client may send once it is in; at anything else PostgreSQL ends the session."""

Watcher = Callable[[int, bytes], bytes]


class ClientFrames:
    """The client's stream: `receive` gives what may go on at once, and stops before a text of ours."""

    __slots__ = ("_beyond", "_rest", "_state", "_wanted", "intercepting", "suspect")

    def __init__(self, state: SessionState, *, intercepting: bool) -> None:
        self.intercepting = intercepting
        self.suspect: bytes | None = None
        """A whole Query or Parse that contains one of our words, while texts are not passing."""
        self._state = state
        self._rest = bytearray()
        self._wanted = 0
        """While something is held back: how much of it must be there before it is looked at again."""
        self._beyond = 0

    @property
    def at_message_start(self) -> bool:
        """Whether the next byte would begin a message."""
        return not (self._rest or self._beyond or self._state.client.state is Client.LOST)

    @property
    def suspect_is_alone(self) -> bool:
        """Whether nothing else is done in one transaction with the suspect, for what stands behind it."""
        suspect = self.suspect
        if suspect is None or suspect[0] == _PARSE:
            return suspect is not None and suspect[5] == 0 and _is_run_once(self._rest)
        return True

    def receive(self, data: bytes) -> bytes:
        """Bytes that may be forwarded now; the others wait inside."""
        if self._wanted:
            if self._state.client.state is Client.LOST:
                return b""
            self._rest += data
            if len(self._rest) < self._wanted:
                return b""
            data = self._unhold()
        at = self._beyond
        size = len(data)
        last = size - 5
        while at <= last:
            kind, length = header(data, at)
            if kind not in _KNOWN or (
                not 4 <= length <= SMALL_MESSAGE and (length < 4 or kind not in _LARGE)
            ):
                return self._broken(data, at)
            end = at + 1 + length
            if kind in _TEXT:
                if self.intercepting and length <= HELD_TEXT:
                    if end > size:
                        return self._hold(data, at, end - at)
                    if may_be_ours(data[at + 5 : end]):
                        self.suspect = data[at:end]
                        self._state.text.step(TextEvent.HOLD)
                        self._hold(data, end, sys.maxsize)
                        return data[:at]
            elif kind == _TERMINATE:
                self._state.client.step(ClientEvent.SAY_GOODBYE)
            at = end
        if at < size:
            return self._hold(data, at, 5)
        self._beyond = at - size
        return data

    def release(self, message: bytes) -> bytes:
        """Let `message` take the place of the suspect; bytes that may be forwarded now, itself first."""
        self._state.text.step(TextEvent.RELEASE)
        self.suspect = None
        return message + self.receive(self._unhold())

    def give_up(self) -> bytes:
        """What is held back of a message that will never be whole: no more will come."""
        return b"" if self.suspect is not None else self._unhold()

    def _hold(self, data: bytes, at: int, wanted: int) -> bytes:
        """Keep what begins at `at` until so much of it has come; what stands before it may go."""
        if data[at : at + 1] and data[at] not in _KNOWN and self.suspect is None:
            return self._broken(data, at)
        self._beyond = 0
        self._rest += data[at:]
        self._wanted = wanted
        return data[:at]

    def _unhold(self) -> bytes:
        data = bytes(self._rest)
        self._rest.clear()
        self._wanted = 0
        return data

    def _broken(self, data: bytes, at: int) -> bytes:
        """The framing is lost, and PostgreSQL ends the session as soon as it has read what shows that.

        The rest is dropped: bytes left unread would make its system cut the connection, last words and all.
        """
        self._state.client.step(ClientEvent.BREAK_FRAMING)
        self._wanted = sys.maxsize
        return data[: at + (5 if data[at] in _KNOWN else 1)]


def _is_run_once(behind: bytearray) -> bool:
    """Whether what stands behind a Parse runs it once and ends the transaction."""
    at = runs = 0
    while at + 5 <= len(behind):
        kind, length = header(behind, at)
        if kind == _SYNC:
            return runs == 1
        if kind not in _AROUND_EXECUTE:
            return False
        runs += kind == _EXECUTE
        at += 1 + length
    return False


def may_be_ours(text: bytes) -> bool:
    """Whether a scan is worth while; true for every statement of ours, in any encoding a client may speak."""
    folded = text.lower()
    # `find`, because `in` first takes the word for a number and pays for finding out that it is none.
    return folded.find(b"gavial") >= 0 or folded.find(b"standing") >= 0


class ServerFrames:
    """The server's stream: follows the transaction state, shows small messages to a watcher."""

    __slots__ = (
        "_beyond",
        "_rest",
        "last_kind",
        "last_ready_status",
        "on_parameter",
        "rows_wanted",
        "status",
        "violation",
        "watcher",
    )

    def __init__(self, on_parameter: Callable[[bytes], None]) -> None:
        self.status = _BUSY
        """The byte of the last ReadyForQuery; 0 from the client's next bytes until the next one."""
        self.last_ready_status = _BUSY
        """The byte of the last ReadyForQuery, whatever came after it."""
        self.last_kind = 0
        """Type of the last message begun."""
        self.watcher: Watcher | None = None
        """Sees notices, completions, errors; what it returns is forwarded instead."""
        self.rows_wanted = False
        """Whether the watcher sees rows too."""
        self.violation: ProtocolViolation | None = None
        """Of a message that the watcher does not expect: it does not go on, nor does anything behind it."""
        self.on_parameter = on_parameter
        self._rest = b""
        self._beyond = 0

    @property
    def at_message_start(self) -> bool:
        """Whether the next byte would begin a message."""
        return not self._rest and self._beyond == 0

    def receive(self, data: bytes) -> bytes:
        """Bytes to forward to the client now."""
        if self._rest:
            data = self._rest + data
            self._rest = b""
        if self.watcher is not None:
            return self._receive_watched(data, self.watcher)
        at = self._beyond
        size = len(data)
        last = size - 5
        kind = self.last_kind
        while at <= last:
            kind, length = header(data, at)
            if kind in _DATA:
                pass
            elif kind == _READY and length > 4:
                if at == last:
                    break
                self.status = self.last_ready_status = data[at + 5]
            elif kind in _NEWS and length <= HELD_NEWS:
                end = at + 1 + length
                if end > size:
                    break
                if kind == _PARAMETER:
                    self.on_parameter(data[at + 5 : end])
                elif (named := with_query_names(data[at:end])) != data[at:end]:
                    data = data[:at] + named + data[end:]
                    length = len(named) - 1
                    size = len(data)
                    last = size - 5
            at += 1 + length
        self.last_kind = kind
        if at >= size:
            self._beyond = at - size
            return data
        self._beyond = 0
        self._rest = data[at:]
        return data[:at]

    def _receive_watched(self, data: bytes, watcher: Watcher) -> bytes:
        out = []
        at = done = self._beyond
        size = len(data)
        if at:
            out.append(data[:at])
        while at + 5 <= size:
            kind, length = header(data, at)
            end = at + 1 + length
            if (kind in _WATCHED or (kind == _ROW and self.rows_wanted)) and length <= HELD_NEWS:
                if end > size:
                    break
                self.last_kind = kind
                if kind == _READY and length > 4:
                    self.status = self.last_ready_status = data[at + 5]
                elif kind == _PARAMETER:
                    self.on_parameter(data[at + 5 : end])
                out.append(data[done:at])
                try:
                    out.append(watcher(kind, data[at:end]))
                except ProtocolViolation as violation:
                    self.violation = violation
                    self._beyond = 0
                    return b"".join(out)
                done = end
            else:
                self.last_kind = kind
            at = end
        if at >= size:
            self._beyond = at - size
            out.append(data[done:])
        else:
            self._beyond = 0
            self._rest = data[at:]
            out.append(data[done:at])
        return b"".join(out)


_WATCHED: Final = frozenset((_READY, _PARAMETER, _NOTICE, _COMPLETE, _ERROR, _SUSPENDED))
