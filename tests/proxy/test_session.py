"""The seam: which tag is patched, and which notices are ours (G21)."""

from __future__ import annotations

import pytest

from catalog.errors import Error, FeatureNotSupported, ProtocolViolation
from dialect.statements.request import call_for
from dialect.statements.statement import ShowVersion
from proxy.wire.frames import ServerFrames
from proxy.wire.messages import SIGN_OF_LIFE, data_row, message
from proxy.wire.session import Question, Run, Session
from proxy.wire.states import ClientEvent, StatementEvent
from proxy.wire.verdict import Verdict

NONCE = "0123456789abcdef"
INSTEAD = call_for(ShowVersion()).encode()


def notice(nonce: str = NONCE, sqlstate: str = "GV001", tag: str = "SHOW") -> bytes:
    return message(b"N", f"SNOTICE\0VNOTICE\0C{sqlstate}\0M{nonce}\0D{tag}\0\0".encode())


ROW = message(b"D", b"\x00\x01\x00\x00\x00\x050.1.0")
READY = message(b"Z", b"I")


def told(words: str, nonce: str = NONCE) -> bytes:
    return notice(nonce, "GV002", words)


def error(sqlstate: str) -> bytes:
    return message(b"E", f"SFEHLER\0VERROR\0C{sqlstate}\0Mm\0Dd\0Fpl_exec.c\0\0".encode())


def complete(tag: str) -> bytes:
    return message(b"C", tag.encode() + b"\0")


def watched_session() -> Session:
    """One that has sent what may be ours."""
    session = Session(NONCE, "db")
    session.state.statement.step(StatementEvent.WATCH)
    return session


def judged_session(outcome: Error | Verdict) -> Session:
    """One whose statement is being told an outcome."""
    session = watched_session()
    watched(session, told("part ab"), told("end"))
    session.prepare(outcome)
    return session


def answered(*messages: bytes) -> bytes:
    """What the client gets, the server's bytes arriving one by one."""
    session = watched_session()
    frames = ServerFrames(session.parameter)
    frames.watcher = session.watch
    return b"".join(frames.receive(bytes([byte])) for byte in b"".join(messages))


def test_the_mark_is_swallowed_and_the_tag_behind_it_patched() -> None:
    assert answered(ROW, notice(), complete("SELECT 1"), READY) == ROW + complete("SHOW") + READY


def test_only_the_next_completion_is_patched() -> None:
    out = answered(notice(), complete("SELECT 1"), complete("SELECT 2"))
    assert out == complete("SHOW") + complete("SELECT 2")


@pytest.mark.parametrize("forged", [notice(nonce="guess"), notice(sqlstate="00000"), notice(nonce="")])
def test_a_forged_mark_is_an_ordinary_notice(forged: bytes) -> None:
    assert answered(forged, complete("SELECT 1")) == forged + complete("SELECT 1")


def test_an_image_of_the_mark_inside_a_row_is_data() -> None:
    row = message(b"D", notice() + complete("SELECT 1"))
    assert answered(row, complete("SELECT 1")) == row + complete("SELECT 1")


@pytest.mark.parametrize("between", [message(b"E", b"SERROR\0C57014\0Mx\0\0"), message(b"s", b""), READY])
def test_a_mark_without_its_completion_is_forgotten(between: bytes) -> None:
    out = answered(notice(), between, complete("INSERT 0 1"))
    assert out == between + complete("INSERT 0 1")


def test_other_notices_may_come_between() -> None:
    other = message(b"N", b"SNOTICE\0C00000\0Mhello\0\0")
    assert answered(notice(), other, complete("SELECT 1")) == other + complete("SHOW")


@pytest.mark.parametrize("kind", [b"N", b"E"])
def test_a_detail_or_hint_without_a_word_is_left_out(kind: bytes) -> None:
    assert answered(message(kind, b"SX\0Mm\0D\0Hh\0\0")) == message(kind, b"SX\0Mm\0Hh\0\0")
    assert answered(message(kind, b"SX\0Mm\0Dd\0H\0\0")) == message(kind, b"SX\0Mm\0Dd\0\0")


def parse(name: bytes, query: bytes, types: bytes = b"\x00\x00") -> bytes:
    return message(b"P", name + b"\0" + query + b"\0" + types)


def test_texts_of_query_and_parse_are_rewritten_and_names_are_not() -> None:
    session = Session(NONCE, "db")
    session.parameter(b"client_encoding\0UTF8\0")
    rewritten = session.rewritten(message(b"Q", b"show gavial.version\0"))
    assert rewritten == message(b"Q", INSTEAD + b"\0")
    rewritten = session.rewritten(parse(b"show gavial.version", b"show gavial.version"))
    assert rewritten == parse(b"show gavial.version", INSTEAD)
    assert session.rewritten(parse(b"show gavial.version", b"select 1")) is None


def test_a_parse_may_declare_types() -> None:
    session = Session(NONCE, "db")
    session.parameter(b"client_encoding\0UTF8\0")
    types = b"\x00\x01\x00\x00\x00\x17"
    assert session.rewritten(parse(b"", b"show gavial.version", types)) == parse(b"", INSTEAD, types)


@pytest.mark.parametrize(
    ("encoding", "text", "read"),
    [
        ("UTF8", "select '\\'; show gavial.version; --', 1", False),
        ("UTF8", "select 'é'; show gavial.version", True),
        ("LATIN1", "select 'é'; show gavial.version", False),
        ("LATIN1", "select 'e'; show gavial.version", True),
    ],
)
def test_what_settings_on_their_way_could_change_is_left_alone(encoding: str, text: str, read: bool) -> None:
    session = Session(NONCE, "db")
    session.parameter(b"client_encoding\0" + encoding.encode() + b"\0")
    query = message(b"Q", text.encode("utf-8" if encoding == "UTF8" else "latin-1") + b"\0")
    assert session.rewritten(query) is not None
    assert (session.rewritten(query, busy=True) is not None) == read


def test_a_fetch_from_a_portal_of_ours_keeps_its_tag() -> None:
    assert answered(notice(), complete("FETCH 1")) == complete("FETCH 1")


def test_nothing_is_rewritten_where_backslashes_escape() -> None:
    session = Session(NONCE, "db")
    session.parameter(b"client_encoding\0UTF8\0")
    session.parameter(b"standard_conforming_strings\0off\0")
    assert session.rewritten(message(b"Q", b"select '\\'; show gavial.version; --'\0")) is None
    assert session.rewritten(message(b"Q", b"show gavial.version\0")) is not None


@pytest.mark.parametrize("body", [b"", b"\0show gavial.version", b"\0\0\0"])
def test_malformed_texts_pass(body: bytes) -> None:
    session = Session(NONCE, "db")
    session.parameter(b"client_encoding\0UTF8\0")
    assert session.rewritten(message(b"Q", body)) is None
    assert session.rewritten(message(b"P", b"gavial" + body)) is None


def watched(session: Session, *messages: bytes) -> bytes:
    return b"".join(session.watch(message[0], message) for message in messages)


def test_a_question_comes_in_parts_and_stands_until_it_was_answered() -> None:
    session = watched_session()
    assert watched(session, told("part ab"), told("part cd")) == b""
    assert session.request is None
    watched(session, told("end"), told("waiting"))
    assert session.request == Question("abcd")
    session.prepare(Verdict())
    watched(session, told("heard"))
    assert session.request is None


@pytest.mark.parametrize("end", [error("57014"), complete("CALL"), READY])
def test_a_question_ends_with_its_statement(end: bytes) -> None:
    session = watched_session()
    assert watched(session, told("part ab"), told("end"), told("part cd"), end) == end
    assert session.request is None
    watched(session, told("part ef"), told("end"))
    assert session.request == Question("ef")


def test_a_forged_question_is_an_ordinary_notice() -> None:
    session = watched_session()
    forged = told("part ab", "guess") + told("end", "guess")
    assert watched(session, told("part ab", "guess"), told("end", "guess")) == forged
    assert session.request is None


def test_the_prepared_error_stands_in_the_place_of_the_servers() -> None:
    session = judged_session(FeatureNotSupported("kein ß", hint="h", position=6))
    session.parameter(b"client_encoding\0LATIN1\0")
    out = watched(session, error("GV003"))
    body = "SFEHLER\0VERROR\0Fpl_exec.c\0C0A000\0Mkein ß\0Hh\0P7\0\0"
    assert out == message(b"E", body.encode("latin-1"))
    assert watched(session, error("57014")) == error("57014")


def test_without_a_prepared_error_the_servers_stands() -> None:
    session = judged_session(Verdict("explained"))
    assert watched(session, error("GV003")) == error("GV003")


def test_an_explanation_takes_the_place_of_one_row() -> None:
    session = judged_session(Verdict("one\ntwo"))
    assert session.expects_explanation
    rows = data_row(b"before"), data_row(NONCE.encode()), data_row(NONCE.encode() * 2)
    assert watched(session, *rows) == rows[0] + data_row(b"one") + data_row(b"two") + rows[2]
    watched(session, complete("SELECT 3"))
    assert not session.expects_explanation
    assert watched(session, rows[1]) == rows[1]


def test_an_explanation_takes_the_place_of_a_value() -> None:
    session = judged_session(Verdict('{"é": 1}'))
    row = data_row(b'{"schedule": "' + NONCE.encode() + b'"}')
    assert watched(session, row) == data_row(b'{"schedule": {"\xe9": 1}}')
    two_columns = message(b"D", b"\0\2" + row[7:] + b"\xff\xff\xff\xff")
    assert watched(session, two_columns) == two_columns


def test_a_warning_comes_once_the_verdict_was_heard() -> None:
    session = judged_session(Verdict(warning="beware", hint="of it"))
    assert watched(session, told("waiting")) == b""
    assert watched(session, told("heard")) == message(
        b"N", b"SWARNING\0VWARNING\0C01000\0Mbeware\0Hof it\0\0"
    )
    watched(session, complete("CREATE STANDING QUERY"), told("part ab"), told("end"))
    session.prepare(Verdict())
    assert watched(session, told("heard")) == b""


def test_a_run_is_asked_for_until_its_statement_asks_something_else_or_ends() -> None:
    session = watched_session()
    watched(session, told("verify 17 0b5d 4711"), told("waiting"))
    assert session.request == Run("verify", 17, "0b5d", 4711)
    watched(session, told("refresh 17 0b5e 4711"))
    assert session.request == Run("refresh", 17, "0b5e", 4711)
    watched(session, told("part ab"))
    assert session.request is None


def test_a_client_that_closed_its_half_gets_a_sign_of_life_while_its_statement_waits() -> None:
    session = watched_session()
    session.state.client.step(ClientEvent.CLOSE_HALF)
    assert watched(session, told("waiting"), told("part ab")) == SIGN_OF_LIFE


@pytest.mark.parametrize(
    "words", [("end",), ("heard",), ("part ab", "heard"), ("part ab", "end", "heard"), ("verify seventeen",)]
)
def test_what_no_statement_of_ours_says_violates_the_protocol(words: tuple[str, ...]) -> None:
    with pytest.raises(ProtocolViolation):
        watched(watched_session(), *map(told, words))


def test_a_word_of_another_version_is_swallowed() -> None:
    assert watched(watched_session(), told("soon")) == b""
