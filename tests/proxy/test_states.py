"""The states of a session: every event in every state goes where the table says, or is an error (G21)."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.errors import FeatureNotSupported, ProtocolViolation
from proxy.wire.messages import message
from proxy.wire.session import Run, Session
from proxy.wire.states import (
    CLIENTS,
    STATEMENTS,
    TEXTS,
    Client,
    ClientEvent,
    EventT,
    Machine,
    Statement,
    StatementEvent,
    StateT,
    Table,
    Text,
    TextEvent,
)
from proxy.wire.verdict import Verdict
from tests.support.checkout import ROOT
from tests.support.recording import assert_as_recorded

README = ROOT / "proxy" / "wire" / "README.md"
BEGINNING, ENDING = "<!-- states -->\n", "<!-- end of states -->\n"
NONCE = "0123456789abcdef"


def test_the_tables_name_every_state_and_every_event() -> None:
    assert_is_complete(TEXTS, Text, TextEvent)
    assert_is_complete(STATEMENTS, Statement, StatementEvent)
    assert_is_complete(CLIENTS, Client, ClientEvent)


def assert_is_complete(table: Table[StateT, EventT], states: type[StateT], events: type[EventT]) -> None:
    """Every state has a row and can be reached, every event is legal somewhere."""
    assert list(table) == list(states)
    assert {event for row in table.values() for event in row} == set(events)
    reached = {next(iter(table))}
    for _ in table:
        reached |= {following for state in reached for following in table[state].values()}
    assert reached == set(states)


def test_each_step_goes_where_the_table_says() -> None:
    walk(TEXTS, TextEvent)
    walk(STATEMENTS, StatementEvent)
    walk(CLIENTS, ClientEvent)


def walk(table: Table[StateT, EventT], events: type[EventT]) -> None:
    """Take every event in every state."""
    for state, event in product(table, events):
        machine = Machine(table)
        machine.state = state
        assert_steps(machine, table, event)


def assert_steps(machine: Machine[StateT, EventT], table: Table[StateT, EventT], event: EventT) -> None:
    """One step is the table's; where that has none, it is an error, and the state stays."""
    before = machine.state
    if event in table[before]:
        machine.step(event)
        assert machine.state is table[before][event]
    else:
        with pytest.raises(ProtocolViolation) as refused:
            machine.step(event)
        assert refused.value.sqlstate == "08P01"
        assert machine.state is before


@given(st.lists(st.sampled_from(StatementEvent), max_size=40))
def test_any_events_of_a_statement_lead_to_states_that_are_named(events: list[StatementEvent]) -> None:
    machine = Machine(STATEMENTS)
    for event in events:
        assert_steps(machine, STATEMENTS, event)


def told(sqlstate: str, words: str) -> bytes:
    return message(b"N", f"SNOTICE\0VNOTICE\0C{sqlstate}\0M{NONCE}\0D{words}\0\0".encode())


MESSAGES = {
    StatementEvent.PART: told("GV002", "part ab"),
    StatementEvent.END: told("GV002", "end"),
    StatementEvent.RUN: told("GV002", "verify 17 0b5d 4711"),
    StatementEvent.WAITING: told("GV002", "waiting"),
    StatementEvent.HEARD: told("GV002", "heard"),
    StatementEvent.TAG: told("GV001", "SHOW"),
    StatementEvent.SUSPEND: message(b"s", b""),
    StatementEvent.READY: message(b"Z", b"I"),
    StatementEvent.COMPLETE: message(b"C", b"SELECT 1\0"),
    StatementEvent.ERROR: message(b"E", b"SERROR\0VERROR\0C57014\0Mx\0\0"),
}
OUTCOMES = (Verdict("explained"), FeatureNotSupported("no"))


@given(st.lists(st.sampled_from(StatementEvent), max_size=40), st.sampled_from(OUTCOMES))
def test_a_session_is_where_its_messages_lead_and_knows_what_belongs_there(
    events: list[StatementEvent], outcome: Verdict | FeatureNotSupported
) -> None:
    session = Session(NONCE, "db")
    statement = session.state.statement
    for event in [StatementEvent.WATCH, *events]:
        following = STATEMENTS[statement.state].get(event)
        if following is None:
            with pytest.raises(ProtocolViolation):
                take(session, event, outcome)
            return
        take(session, event, outcome)
        assert statement.state is following
        waits = (Statement.JUDGING, Statement.JUDGED, Statement.RUNNING)
        assert (session.request is not None) == (following in waits)
        assert isinstance(session.request, Run) == (following is Statement.RUNNING)
        if following in (Statement.PLAIN, Statement.UNWATCHED):
            assert not session.expects_explanation


def take(session: Session, event: StatementEvent, outcome: Verdict | FeatureNotSupported) -> None:
    """What happens to a session when an event does."""
    match event:
        case StatementEvent.WATCH:
            session.state.statement.step(event)
        case StatementEvent.PREPARE:
            session.prepare(outcome)
        case _:
            session.watch(MESSAGES[event][0], MESSAGES[event])


def test_the_readme_shows_the_tables() -> None:
    """The states are read in `proxy/wire/README.md`; REWRITE=1 writes them there."""
    head, _, rest = README.read_text().partition(BEGINNING)
    _, _, tail = rest.partition(ENDING)
    shown = "\n".join(
        (shown_table("text", TEXTS), shown_table("statement", STATEMENTS), shown_table("client", CLIENTS))
    )
    assert_as_recorded(Path(README), f"{head}{BEGINNING}{shown}{ENDING}{tail}")


def shown_table(part: str, table: Table[StateT, EventT]) -> str:
    """A row for each state: which events lead where."""
    rows = [f"| {part} | what leads on |", "|---|---|"]
    for state, steps in table.items():
        places = dict.fromkeys(steps.values())
        ways = (
            f"{', '.join(event.value for event in steps if steps[event] is place)} → {place.value}"
            if place is not state
            else f"{', '.join(event.value for event in steps if steps[event] is place)}: stays"
            for place in places
        )
        rows.append(f"| {state.value} | {'; '.join(ways)} |")
    return "\n".join(rows) + "\n"
