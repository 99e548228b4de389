"""The seam: which tag is patched, and which notices are ours (G21)."""

from __future__ import annotations

import pytest

from dialect.request import call_for
from dialect.statements import ShowVersion
from proxy.frames import ServerFrames
from proxy.messages import message
from proxy.session import Session

NONCE = "0123456789abcdef"
INSTEAD = call_for(ShowVersion()).encode()


def notice(nonce: str = NONCE, sqlstate: str = "GV001", tag: str = "SHOW") -> bytes:
    return message(b"N", f"SNOTICE\0VNOTICE\0C{sqlstate}\0M{nonce}\0D{tag}\0\0".encode())


ROW = message(b"D", b"\x00\x01\x00\x00\x00\x050.1.0")
READY = message(b"Z", b"I")


def complete(tag: str) -> bytes:
    return message(b"C", tag.encode() + b"\0")


def answered(*messages: bytes) -> bytes:
    """What the client gets, the server's bytes arriving one by one."""
    session = Session(NONCE, "db")
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


def parse(name: bytes, query: bytes) -> bytes:
    return message(b"P", name + b"\0" + query + b"\0" + b"\x00\x00")


def test_texts_of_query_and_parse_are_rewritten_and_names_are_not() -> None:
    session = Session(NONCE, "db")
    session.parameter(b"client_encoding\0UTF8\0")
    rewritten = session.rewritten(message(b"Q", b"show gavial.version\0"))
    assert rewritten == message(b"Q", INSTEAD + b"\0")
    rewritten = session.rewritten(parse(b"show gavial.version", b"show gavial.version"))
    assert rewritten == parse(b"show gavial.version", INSTEAD)
    assert session.rewritten(parse(b"show gavial.version", b"select 1")) is None


def test_nothing_is_rewritten_where_backslashes_escape() -> None:
    session = Session(NONCE, "db")
    session.parameter(b"client_encoding\0UTF8\0")
    session.parameter(b"standard_conforming_strings\0off\0")
    assert session.rewritten(message(b"Q", b"show gavial.version\0")) is None


@pytest.mark.parametrize("body", [b"", b"show gavial.version", b"\0show gavial.version", b"\0\0\0"])
def test_malformed_texts_pass(body: bytes) -> None:
    session = Session(NONCE, "db")
    session.parameter(b"client_encoding\0UTF8\0")
    assert session.rewritten(message(b"Q", body)) is None
    assert session.rewritten(message(b"P", b"gavial" + body)) is None
