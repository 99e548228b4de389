"""The seam: where a statement of ours is taken out of the client's stream and its answer made ours; pure.

Nothing is synthesised. A message with a statement of ours is rewritten in place
(`dialect/statements/rewrite.py`); what runs instead raises, as its last act, a notice with a private
SQLSTATE and this session's nonce. The notice is swallowed here and the CommandComplete right behind it gets
the tag it carries. The states are in `proxy/wire/states.py`; a message that is not legal where the statement
stands raises `ProtocolViolation`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from catalog.errors import Error, ProtocolViolation
from dialect.statements.rewrite import Edit, codec_of, rewrite
from proxy.wire.messages import SIGN_OF_LIFE, data_row, fields_of, message
from proxy.wire.query_names import with_query_names
from proxy.wire.relocation import relocated, replaced
from proxy.wire.states import Client, SessionState, Statement, StatementEvent
from proxy.wire.verdict import Verdict

TAG_NOTICE: Final = "GV001"
"""SQLSTATE of the notice that names the tag of the statement it ends."""

QUESTION_NOTICE: Final = "GV002"
"""SQLSTATE of the notices by which a statement asks whether its query can be kept, and that it was told."""

REFUSAL_ERROR: Final = "GV003"
"""SQLSTATE of the error in whose place the client gets the one that we have prepared."""

_PARSE: Final = ord("P")
_NOTICE, _COMPLETE, _ERROR, _READY, _ROW, _SUSPENDED = b"NCEZDs"
_REPLACED_TAGS: Final = (b"SELECT ", b"CALL\x00")
"""Tags of what stands in the place of ours; a FETCH from it keeps its own."""

LONGEST_QUESTION: Final = 1 << 23
"""What is longer is cut off, and not understood."""

_PRIVATE: Final = b"GV00"


_NO_VERDICT: Final = Verdict()

_WORDS: Final = {
    "part": StatementEvent.PART,
    "end": StatementEvent.END,
    "verify": StatementEvent.RUN,
    "verify_postgres": StatementEvent.RUN,
    "verify_spark": StatementEvent.RUN,
    "refresh": StatementEvent.RUN,
    "waiting": StatementEvent.WAITING,
    "heard": StatementEvent.HEARD,
}
"""What a statement tells us with `QUESTION_NOTICE`; a word of another version means nothing."""

_ENDS: Final = {
    _COMPLETE: StatementEvent.COMPLETE,
    _ERROR: StatementEvent.ERROR,
    _READY: StatementEvent.READY,
    _SUSPENDED: StatementEvent.SUSPEND,
}


@dataclass(frozen=True, slots=True)
class Question:
    """Whether a query can be kept."""

    text: str


@dataclass(frozen=True, slots=True)
class Run:
    """A run to be entered for a process of the server that waits for it."""

    kind: str
    target: int
    run: str
    process: int


Request: TypeAlias = Question | Run


class Session:
    """What the proxy knows of one client's session: what its states are about."""

    def __init__(self, nonce: str, database: str) -> None:
        self.database = database
        self.state = SessionState()
        self._nonce = nonce
        self._encoding = "SQL_ASCII"
        self._standard_strings = True
        self.request: Request | None = None
        """What the statement under way waits for, while judged or running; another is another object."""
        self._question = ""
        """While it is asking: what has come of its question."""
        self._refusal: Error | None = None
        self._verdict = _NO_VERDICT
        """From when it is judged, this or a refusal."""
        self._tag = b""
        """While it is tagged."""
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
        self.state.statement.step(StatementEvent.PREPARE)
        self._refusal = outcome if isinstance(outcome, Error) else None
        self._verdict = _NO_VERDICT if isinstance(outcome, Error) else outcome

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
        if kind == _ROW:
            return self._with_explanation(frame)
        if kind == _NOTICE and (private := self._private_notice(frame)) is not None:
            return self._on_private_notice(*private)
        statement = self.state.statement
        if kind in (_ERROR, _NOTICE):
            frame = with_query_names(frame)
            codec = codec_of(self._encoding) or "latin-1"
            frame = replaced(frame, codec, REFUSAL_ERROR, self._refusal) or relocated(
                frame, codec, self._edits
            )
        elif (
            kind == _COMPLETE and statement.state is Statement.TAGGED and frame.startswith(_REPLACED_TAGS, 5)
        ):
            frame = message(b"C", self._tag + b"\x00")
        elif kind == _READY:
            self._edits = ()
        if kind in _ENDS:
            statement.step(_ENDS[kind])
            self.request = None
            if statement.state is Statement.PLAIN:
                self._refusal, self._verdict = None, _NO_VERDICT
        return frame

    def _private_notice(self, notice: bytes) -> tuple[str, str] | None:
        """SQLSTATE and detail of a notice for us alone."""
        if _PRIVATE not in notice:
            return None
        fields = fields_of(notice[5:])
        if fields.get("C") not in (TAG_NOTICE, QUESTION_NOTICE) or fields.get("M") != self._nonce:
            return None
        return fields["C"], fields.get("D", "")

    def _on_private_notice(self, sqlstate: str, detail: str) -> bytes:
        """What the client gets in the place of a notice for us alone."""
        word, _, rest = detail.partition(" ")
        event = StatementEvent.TAG if sqlstate == TAG_NOTICE else _WORDS.get(word)
        if event is None:
            return b""
        is_first_part = self.state.statement.state is not Statement.ASKING
        self.state.statement.step(event)
        match event:
            case StatementEvent.WAITING:
                # Whether a client that closed its half is gone is known by writing to it.
                return SIGN_OF_LIFE if self.state.client.state is Client.LISTENING else b""
            case StatementEvent.PART:
                self._question = rest if is_first_part else (self._question + rest)[:LONGEST_QUESTION]
                self.request = None
            case StatementEvent.END:
                self.request = Question(self._question)
            case StatementEvent.RUN:
                self.request = _run_of(detail)
            case StatementEvent.HEARD:
                self.request = None
                return self._warning_notice()
            case StatementEvent.TAG:
                self.request = None
                self._tag = detail.encode()
            case _:
                raise AssertionError(event)
        return b""


def _run_of(detail: str) -> Run:
    match detail.split():
        case [kind, target, run, process] if target.isdecimal() and process.isdecimal():
            return Run(kind, int(target), run, int(process))
        case _:
            raise ProtocolViolation("unexpected request for a run from the PostgreSQL server")
