"""The seam: where a statement of ours is taken out of the client's stream and its answer made ours; pure.

Nothing is synthesised. A message with a statement of ours is rewritten in place
(`dialect/statements/rewrite.py`); what runs instead raises, as its last act, a notice with a private
SQLSTATE and this session's nonce. The notice is swallowed here and the CommandComplete right behind it gets
the tag it carries.
"""

from __future__ import annotations

from typing import Final

from catalog.errors import Error
from dialect.statements.rewrite import Edit, codec_of, rewrite
from proxy.wire.messages import data_row, fields_of, message
from proxy.wire.relocation import relocated, replaced
from proxy.wire.verdict import Verdict

TAG_NOTICE: Final = "GV001"
"""SQLSTATE of the notice that names the tag of the statement it ends."""

QUESTION_NOTICE: Final = "GV002"
"""SQLSTATE of the notices by which a statement asks whether its query can be kept, and that it was told."""

REFUSAL_ERROR: Final = "GV003"
"""SQLSTATE of the error in whose place the client gets the one that we have prepared."""

_PARSE: Final = ord("P")
_NOTICE, _COMPLETE, _PARAMETER, _ERROR, _READY, _ROW = b"NCSEZD"
_REPLACED_TAGS: Final = (b"SELECT ", b"CALL\x00")
"""Tags of what stands in the place of ours; a FETCH from it keeps its own."""

LONGEST_QUESTION: Final = 1 << 23
"""What is longer is cut off, and not understood."""

_PRIVATE: Final = b"GV00"
_KEEPING_TAG: Final = frozenset((_NOTICE, _PARAMETER))


class Session:
    """What the proxy knows of one client's session."""

    def __init__(self, nonce: str, database: str) -> None:
        self.database = database
        self._nonce = nonce
        self._encoding = "SQL_ASCII"
        self._standard_strings = True
        self.request = ""
        """What the statement under way has asked, whole; empty when nothing waits for an answer."""
        self.is_waiting = False
        """Whether the last message of the server said that the statement under way waits."""
        self._partial_question = ""
        self._refusal: Error | None = None
        self._verdict = Verdict()
        self._tag: bytes | None = None
        self._edits: tuple[Edit, ...] = ()

    def parameter(self, body: bytes) -> None:
        """Note the value of a parameter that the server reported."""
        name, _, value = body.rstrip(b"\x00").partition(b"\x00")
        match name:
            case b"client_encoding":
                self._encoding = value.decode("ascii", "replace")
            case b"standard_conforming_strings":
                self._standard_strings = value == b"on"

    def rewritten(
        self, suspect: bytes, *, busy: bool = False, alone: bool = True, refused: Error | None = None
    ) -> bytes | None:
        """A Query or Parse with ours replaced, or refused; None if none is, or it cannot be read for sure.

        `alone`: what it does is not done in one transaction with what comes in other messages.
        """
        start = 5 if suspect[0] != _PARSE else suspect.find(b"\x00", 5) + 1
        end = suspect.find(b"\x00", start)
        if start == 0 or end == -1 or not self._readable(suspect[start:end], busy=busy):
            return None
        new = rewrite(suspect[start:end], self._encoding, refused, alone=alone)
        if new is None:
            return None
        self._edits = new.edits
        return message(suspect[:1], suspect[5:start] + new.query + suspect[end:])

    def _readable(self, text: bytes, *, busy: bool) -> bool:
        """Whether PostgreSQL reads the text as we do, even if a change of settings is still on its way."""
        if not self._standard_strings and b"\\" in text:
            return False
        return not busy or (b"\\" not in text and (self._encoding == "UTF8" or text.isascii()))

    def prepare(self, outcome: Error | Verdict) -> None:
        """What the client is to get in the place of the server's refusal, or of the row to explain in."""
        self._refusal = outcome if isinstance(outcome, Error) else None
        self._verdict = Verdict() if isinstance(outcome, Error) else outcome

    @property
    def expects_explanation(self) -> bool:
        """Whether a row may come in whose place the client gets an explanation of ours."""
        return self._verdict.explanation != ""

    def _with_explanation(self, row: bytes) -> bytes:
        """The row; lines of the explanation in the place of the one that has our nonce and nothing else.

        In the place of the nonce as a value of JSON: the explanation.
        """
        mark, quoted, explanation = (
            self._nonce.encode(),
            f'"{self._nonce}"'.encode(),
            self._verdict.explanation,
        )
        codec = codec_of(self._encoding) or "latin-1"
        if explanation and row == data_row(mark):
            return b"".join(data_row(line.encode(codec, "replace")) for line in explanation.split("\n"))
        if explanation and quoted in row and row == data_row(value := row[11:]):
            return data_row(value.replace(quoted, explanation.encode(codec, "replace")))
        return row

    def _warning_notice(self) -> bytes:
        """A notice for the client of what was found when its statement was judged."""
        warning, hint = self._verdict.warning, self._verdict.hint
        if not warning:
            return b""
        severity, sqlstate = ("NOTICE", "00000") if self._verdict.is_news else ("WARNING", "01000")
        fields = f"S{severity}\0V{severity}\0C{sqlstate}\0M{warning}\0H{hint}\0\0"
        return message(b"N", fields.encode(codec_of(self._encoding) or "latin-1", "replace"))

    def watch(self, kind: int, frame: bytes) -> bytes:
        """What the client gets of a small server message, once a statement of ours was sent."""
        self.is_waiting = False
        if kind == _ROW:
            return self._with_explanation(frame)
        if kind == _NOTICE and (private := self._private_notice(frame)) is not None:
            self._on_private_notice(*private)
            return self._warning_notice() if private == (QUESTION_NOTICE, "heard") else b""
        if kind in (_ERROR, _NOTICE):
            codec = codec_of(self._encoding) or "latin-1"
            frame = replaced(frame, codec, REFUSAL_ERROR, self._refusal) or relocated(
                frame, codec, self._edits
            )
        elif kind == _READY:
            self._edits = ()
        if kind == _COMPLETE and self._tag is not None and frame.startswith(_REPLACED_TAGS, 5):
            frame = message(b"C", self._tag + b"\x00")
        if kind not in _KEEPING_TAG:
            self._tag = None
            self.request = self._partial_question = ""
        if kind in (_COMPLETE, _ERROR):
            self._verdict = Verdict()
        return frame

    def _private_notice(self, notice: bytes) -> tuple[str, str] | None:
        """SQLSTATE and detail of a notice for us alone."""
        if _PRIVATE not in notice:
            return None
        fields = fields_of(notice[5:])
        if fields.get("C") not in (TAG_NOTICE, QUESTION_NOTICE) or fields.get("M") != self._nonce:
            return None
        return fields["C"], fields.get("D", "")

    def _on_private_notice(self, sqlstate: str, detail: str) -> None:
        if sqlstate == TAG_NOTICE:
            self._tag = detail.encode()
            return
        word, _, piece = detail.partition(" ")
        match word:
            case "part" if len(self._partial_question) < LONGEST_QUESTION:
                self._partial_question += piece
            case "end":
                self.request, self._partial_question = self._partial_question, ""
            case "verify" | "refresh":
                self.request = detail
            case "waiting":
                self.is_waiting = True
            case "heard":
                self.request = ""
