"""The seam: where a statement of ours is taken out of the client's stream and its answer made ours; pure.

Nothing is synthesised. A message with a statement of ours is rewritten in place (`dialect/rewrite.py`); what
runs instead raises, as its last act, a notice with a private SQLSTATE and this session's nonce. The notice is
swallowed here and the CommandComplete right behind it gets the tag it carries.
"""

from __future__ import annotations

from typing import Final

from catalog.errors import Error
from dialect.rewrite import Edit, codec_of, rewrite
from proxy.messages import fields_of, message
from proxy.relocation import relocated

MARK: Final = "GV001"
"""SQLSTATE of the notice that names the tag of the statement it ends."""

_PARSE: Final = ord("P")
_NOTICE, _COMPLETE, _PARAMETER, _ERROR, _READY = b"NCSEZ"
_BETWEEN: Final = frozenset((_NOTICE, _PARAMETER))


class Session:
    """What the proxy knows of one client's session."""

    def __init__(self, nonce: str, database: str) -> None:
        self.database = database
        self._nonce = nonce
        self._encoding = "SQL_ASCII"
        self._standard_strings = True
        self._tag: bytes | None = None
        self._edits: tuple[Edit, ...] = ()

    def parameter(self, body: bytes) -> None:
        """The server reported a parameter."""
        name, _, value = body.rstrip(b"\x00").partition(b"\x00")
        match name:
            case b"client_encoding":
                self._encoding = value.decode("ascii", "replace")
            case b"standard_conforming_strings":
                self._standard_strings = value == b"on"

    def rewritten(self, suspect: bytes, refused: Error | None = None) -> bytes | None:
        """A Query or Parse with ours replaced, or refused; None if none is, or it cannot be read for sure."""
        if not self._standard_strings or suspect[-1:] != b"\x00":
            return None
        start = 5 if suspect[0] != _PARSE else suspect.find(b"\x00", 5) + 1
        end = suspect.find(b"\x00", start)
        if start == 0 or end == -1:
            return None
        new = rewrite(suspect[start:end], self._encoding, refused)
        if new is None:
            return None
        self._edits = new.edits
        return message(suspect[:1], suspect[5:start] + new.query + suspect[end:])

    def watch(self, kind: int, frame: bytes) -> bytes:
        """What the client gets of a small server message, once a statement of ours was sent."""
        if kind == _NOTICE and (tag := self._mark_in(frame)) is not None:
            self._tag = tag
            return b""
        if kind in (_ERROR, _NOTICE):
            frame = relocated(frame, codec_of(self._encoding) or "latin-1", self._edits)
        elif kind == _READY:
            self._edits = ()
        if kind == _COMPLETE and self._tag is not None:
            frame = message(b"C", self._tag + b"\x00")
        if kind not in _BETWEEN:
            self._tag = None
        return frame

    def _mark_in(self, notice: bytes) -> bytes | None:
        if MARK.encode() not in notice:
            return None
        fields = fields_of(notice[5:])
        if fields.get("C") != MARK or fields.get("M") != self._nonce:
            return None
        return fields.get("D", "").encode()
