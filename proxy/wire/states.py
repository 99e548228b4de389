"""The states of a session and the events that lead from one to another: tables, and nothing else.

Everything that decides how a session goes on is in this file; what a state is about (a text that is held
back, a question, a tag) is kept by whoever takes the step. The three parts are independent of each other,
because a client may send the next text, or close its half, while the server is at work on an earlier one.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, Generic, TypeVar

from catalog.errors import ProtocolViolation


class Name(Enum):
    """A name of a state or event; hashed as an object, because Enum's own hash is a call into Python."""

    __hash__ = object.__hash__


class Text(Name):
    """What becomes of the client's texts."""

    PASSING = "passing"
    """Everything goes on as it comes."""
    HELD = "held"
    """A text that may be ours is whole; nothing goes on."""
    BEING_READ = "being read"
    """The same, and it takes longer: the text is large, or the database has to be prepared."""


class TextEvent(Name):
    """What happens to the client's texts."""

    HOLD = "hold"
    READ = "read"
    RELEASE = "release"


class Statement(Name):
    """How far the server is with a statement of ours."""

    UNWATCHED = "unwatched"
    """Nothing that may be ours was ever sent: the server's messages are not looked at."""
    PLAIN = "plain"
    """None is under way that has told us anything."""
    ASKING = "asking"
    """It asks whether a query can be kept; parts of the question have come."""
    JUDGING = "judging"
    """The question is whole, and waits for us."""
    JUDGED = "judged"
    """The outcome is known here, and the statement is being told."""
    HEARD = "heard"
    """It knows the outcome, which stays until it completes: rows of an explanation are still to come."""
    RUNNING = "running"
    """It waits for a run that we have entered for it."""
    TAGGED = "tagged"
    """It has named its tag; the completion is next."""


class StatementEvent(Name):
    """What the server says of a statement, or what is prepared for it."""

    WATCH = "watch"
    PART = "part"
    END = "end"
    PREPARE = "prepare"
    HEARD = "heard"
    RUN = "run"
    WAITING = "waiting"
    TAG = "tag"
    SUSPEND = "suspend"
    READY = "ready"
    COMPLETE = "complete"
    ERROR = "error"


class Client(Name):
    """Whether the client will say more."""

    TALKING = "talking"
    LEAVING = "leaving"
    """It said goodbye."""
    LOST = "lost"
    """It broke the framing: nothing of it goes on any more."""
    LISTENING = "listening"
    """It closed its half, and may still read."""
    GONE = "gone"


class ClientEvent(Name):
    """What the client does besides sending messages."""

    SAY_GOODBYE = "say goodbye"
    BREAK_FRAMING = "break framing"
    CLOSE_HALF = "close half"
    CLOSE = "close"


StateT = TypeVar("StateT", bound=Name)
EventT = TypeVar("EventT", bound=Name)
Table = Mapping[StateT, Mapping[EventT, StateT]]

TEXTS: Final[Table[Text, TextEvent]] = {
    Text.PASSING: {TextEvent.HOLD: Text.HELD},
    Text.HELD: {TextEvent.READ: Text.BEING_READ, TextEvent.RELEASE: Text.PASSING},
    Text.BEING_READ: {TextEvent.RELEASE: Text.PASSING},
}

_BEGINNINGS: Final = {
    StatementEvent.PART: Statement.ASKING,
    StatementEvent.RUN: Statement.RUNNING,
    StatementEvent.TAG: Statement.TAGGED,
}
"""What a statement may begin with. One may follow another without an end in sight: inside a function that
catches errors, or where EXPLAIN asks for a run and then how the query is computed.
"""
_ENDS: Final = {
    StatementEvent.SUSPEND: Statement.PLAIN,
    StatementEvent.READY: Statement.PLAIN,
    StatementEvent.COMPLETE: Statement.PLAIN,
    StatementEvent.ERROR: Statement.PLAIN,
}
_PAUSES: Final = {StatementEvent.SUSPEND: Statement.HEARD, StatementEvent.READY: Statement.HEARD}
"""A portal that is suspended may go on after other messages; its rows may still be an explanation's."""

STATEMENTS: Final[Table[Statement, StatementEvent]] = {
    Statement.UNWATCHED: {StatementEvent.WATCH: Statement.PLAIN},
    Statement.PLAIN: _BEGINNINGS | _ENDS | {StatementEvent.WAITING: Statement.PLAIN},
    Statement.ASKING: _ENDS | {StatementEvent.PART: Statement.ASKING, StatementEvent.END: Statement.JUDGING},
    Statement.JUDGING: _BEGINNINGS
    | _ENDS
    | {StatementEvent.WAITING: Statement.JUDGING, StatementEvent.PREPARE: Statement.JUDGED},
    Statement.JUDGED: _BEGINNINGS
    | _ENDS
    | {
        StatementEvent.WAITING: Statement.JUDGED,
        StatementEvent.PREPARE: Statement.JUDGED,
        StatementEvent.HEARD: Statement.HEARD,
    },
    Statement.HEARD: _BEGINNINGS | _ENDS | _PAUSES | {StatementEvent.WAITING: Statement.HEARD},
    Statement.RUNNING: _BEGINNINGS | _ENDS | {StatementEvent.WAITING: Statement.RUNNING},
    Statement.TAGGED: _BEGINNINGS | _ENDS | _PAUSES | {StatementEvent.WAITING: Statement.TAGGED},
}

_LAST_WORDS: Final = {
    ClientEvent.BREAK_FRAMING: Client.LOST,
    ClientEvent.CLOSE_HALF: Client.LISTENING,
    ClientEvent.CLOSE: Client.GONE,
}

CLIENTS: Final[Table[Client, ClientEvent]] = {
    Client.TALKING: {ClientEvent.SAY_GOODBYE: Client.LEAVING} | _LAST_WORDS,
    Client.LEAVING: {ClientEvent.SAY_GOODBYE: Client.LEAVING} | _LAST_WORDS,
    Client.LOST: {ClientEvent.CLOSE_HALF: Client.LISTENING, ClientEvent.CLOSE: Client.GONE},
    # What was held back when it closed its half is still looked at.
    Client.LISTENING: {ClientEvent.SAY_GOODBYE: Client.LISTENING} | _LAST_WORDS,
    Client.GONE: dict.fromkeys(ClientEvent, Client.GONE),
}


class Machine(Generic[StateT, EventT]):
    """Where one part of a session stands, by its table."""

    __slots__ = ("_table", "state")

    def __init__(self, table: Table[StateT, EventT]) -> None:
        self._table = table
        self.state = next(iter(table))

    def step(self, event: EventT) -> None:
        """Go where an event leads; one that the table does not have for this state violates the protocol."""
        following = self._table[self.state].get(event)
        if following is None:
            raise ProtocolViolation(f'unexpected "{event.value}" in a session that is {self.state.value}')
        self.state = following


class SessionState:
    """Where a session stands."""

    __slots__ = ("client", "statement", "text")

    def __init__(self) -> None:
        self.text = Machine(TEXTS)
        self.statement = Machine(STATEMENTS)
        self.client = Machine(CLIENTS)

    @property
    def end_is_expected(self) -> bool:
        """Whether the server may leave without a word."""
        return self.client.state is not Client.TALKING
