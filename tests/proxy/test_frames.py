"""The walk over message headers: whatever the cuts, what comes out is what went in (G21)."""

from __future__ import annotations

import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from catalog.errors import ProtocolViolation
from proxy.wire.frames import HELD_TEXT, ClientFrames, ServerFrames
from proxy.wire.query_names import with_query_names
from proxy.wire.states import Client, SessionState


def frame(kind: str, body: bytes) -> bytes:
    return kind.encode() + struct.pack("!I", len(body) + 4) + body


bodies = st.one_of(
    st.binary(max_size=40),
    st.just(frame("Q", b"create standing query\x00")),
    st.just(frame("Z", b"I")),
)
client_messages = st.builds(frame, st.sampled_from("BDECHSdcfFX"), bodies)
texts = st.sampled_from([b"select 1\x00", b"show gavial.version\x00", b"a standing b\x00", b"\x00"])
text_messages = st.builds(frame, st.sampled_from("QP"), texts)
server_messages = st.builds(frame, st.sampled_from("TDCIZENAsSKRtn123GHWdcVv"), bodies)
cuts = st.lists(st.integers(1, 60), max_size=30)


def pieces(stream: bytes, sizes: list[int]) -> list[bytes]:
    """The stream cut into segments of the given sizes, and the rest."""
    out = []
    for size in sizes:
        out.append(stream[:size])
        stream = stream[size:]
    return [piece for piece in (*out, stream) if piece]


@given(st.lists(st.one_of(client_messages, text_messages), max_size=8), cuts)
def test_client_stream_passes_unchanged_and_suspects_are_whole(
    messages: list[bytes], sizes: list[int]
) -> None:
    frames = ClientFrames(SessionState(), intercepting=True)
    out = b""
    suspects = []
    for piece in pieces(b"".join(messages), sizes):
        out += frames.receive(piece)
        while (suspect := frames.suspect) is not None:
            suspects.append(suspect)
            out += frames.release(suspect)
    assert out == b"".join(messages)
    assert frames.at_message_start
    ours = [m for m in messages if m[:1] in b"QP" and (b"gavial" in m or b"standing" in m)]
    assert suspects == ours


@given(st.lists(st.one_of(client_messages, text_messages), max_size=8), cuts)
def test_nothing_is_held_where_nothing_is_intercepted(messages: list[bytes], sizes: list[int]) -> None:
    frames = ClientFrames(SessionState(), intercepting=False)
    out = b"".join(frames.receive(piece) for piece in pieces(b"".join(messages), sizes))
    assert frames.suspect is None
    assert out == b"".join(messages)


@given(st.lists(server_messages, max_size=8), cuts, st.booleans())
@example(messages=[frame("Z", b"")], sizes=[], watched=False)  # has no status
def test_server_stream_passes_unchanged(messages: list[bytes], sizes: list[int], watched: bool) -> None:
    seen: list[bytes] = []
    frames = ServerFrames(seen.append)
    if watched:
        frames.watcher = lambda _kind, message: message
    out = b"".join(frames.receive(piece) for piece in pieces(b"".join(messages), sizes))
    assert out == b"".join(messages)
    assert frames.at_message_start
    assert seen == [m[5:] for m in messages if m[:1] == b"S"]
    assert frames.last_kind == (messages[-1][0] if messages else 0)


def test_status_is_that_of_the_last_ready_for_query() -> None:
    frames = ServerFrames(lambda _body: None)
    for byte in frame("Z", b"T") + frame("D", frame("Z", b"E")) + frame("Z", b"I"):
        frames.receive(bytes([byte]))
    assert frames.status == ord("I")


def test_a_text_too_long_to_hold_passes_as_it_comes() -> None:
    frames = ClientFrames(SessionState(), intercepting=True)
    text = frame("Q", b"show gavial.version" + b" " * HELD_TEXT + b"\x00")
    assert frames.receive(text[:100]) == text[:100]
    assert frames.receive(text[100:]) == text[100:]
    assert frames.suspect is None


@pytest.mark.parametrize("length", [0, 3, 0xFFFFFFFF])
def test_a_length_that_cannot_be_ends_the_reading(length: int) -> None:
    state = SessionState()
    frames = ClientFrames(state, intercepting=True)
    broken = b"S" + struct.pack("!I", length)
    later = frame("Q", b"show gavial.version\x00")
    assert frames.receive(broken + later) == broken
    assert frames.receive(later) == b""
    assert state.client.state is Client.LOST
    assert state.end_is_expected
    assert frames.suspect is None


@pytest.mark.parametrize("kind", [b"p", b"z", b"\x00"])
def test_a_type_that_cannot_be_ends_the_reading_at_its_byte(kind: bytes) -> None:
    frames = ClientFrames(SessionState(), intercepting=True)
    before = frame("S", b"")
    assert frames.receive(before + kind + b"more than a header") == before + kind
    assert frames.receive(b"anything") == b""
    alone = ClientFrames(SessionState(), intercepting=True)
    assert alone.receive(kind) == kind


def test_what_was_held_back_is_given_up_at_the_end() -> None:
    frames = ClientFrames(SessionState(), intercepting=True)
    begun = frame("Q", b"select 1\x00")[:7]
    assert frames.receive(begun) == b""
    assert frames.give_up() == begun


def test_a_huge_text_is_passed_on_without_being_kept() -> None:
    frames = ClientFrames(SessionState(), intercepting=True)
    announced = b"Q" + struct.pack("!I", 0x7FFFFFFF)
    assert frames.receive(announced + b"show gavial.version") == announced + b"show gavial.version"
    assert frames.receive(b"x" * 1000) == b"x" * 1000


def test_a_small_message_announced_large_is_the_end_of_framing() -> None:
    state = SessionState()
    frames = ClientFrames(state, intercepting=True)
    flood = b"S" + struct.pack("!I", 20_000)
    assert frames.receive(flood + b"x" * 20_000) == flood
    assert state.client.state is Client.LOST
    assert state.end_is_expected


def test_goodbye_is_noticed() -> None:
    state = SessionState()
    frames = ClientFrames(state, intercepting=True)
    frames.receive(frame("X", b""))
    assert state.client.state is Client.LEAVING
    assert state.end_is_expected


def test_nothing_passes_behind_a_message_that_the_watcher_does_not_expect() -> None:
    def watcher(kind: int, message: bytes) -> bytes:
        if kind == ord("N"):
            raise ProtocolViolation("unexpected")
        return message

    frames = ServerFrames(lambda _body: None)
    frames.watcher = watcher
    before = frame("C", b"SELECT 1\0") + frame("T", b"rows")
    assert frames.receive(before + frame("N", b"\0") + frame("Z", b"I")) == before
    assert frames.violation is not None
    assert frames.at_message_start


VIEW = b'gavial_views."standing query s22.q ""x"""'


@given(st.lists(server_messages, max_size=4), st.lists(server_messages, max_size=4), cuts, st.booleans())
def test_a_hidden_view_goes_by_the_name_of_its_query(
    before: list[bytes], behind: list[bytes], sizes: list[int], watched: bool
) -> None:
    def field(view: bytes) -> bytes:
        texts = (b"view %s depends on t\nrule _RETURN on view %s depends on t", b"Sicht %s", b"%s")
        return b"SERROR\0M" + texts[0].replace(b"%s", view) + b"\0D" + texts[1].replace(b"%s", view) + b"\0\0"

    name = b'standing query s22.q "x"'
    said = b"SERROR\0M" + name + b" depends on t\n" + name + b" depends on t\0DSicht " + name + b"\0\0"
    for kind in "NE":
        frames = ServerFrames(lambda _body: None)
        if watched:
            frames.watcher = lambda _kind, message: with_query_names(message)
        stream = b"".join([*before, frame(kind, field(VIEW)), *behind])
        out = b"".join(frames.receive(piece) for piece in pieces(stream, sizes))
        assert out == b"".join([*before, frame(kind, said), *behind])
        assert frames.at_message_start


def test_only_texts_for_people_are_changed() -> None:
    query = frame("E", b"Mx\0q" + b"view " + VIEW + b"\0\0")
    assert with_query_names(query) == query
    assert with_query_names(frame("N", b'Mgavial_views."other"\0\0')) == frame(
        "N", b'Mgavial_views."other"\0\0'
    )
