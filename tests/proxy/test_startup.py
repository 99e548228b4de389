"""Start-up packets: what is read, what is passed on, what is refused in PostgreSQL's words (G18, G21)."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.errors import Error, FeatureNotSupported, InvalidAuthorization, ProtocolViolation
from proxy.wire.messages import negotiate_version, parse_negotiate_version
from proxy.wire.startup import NEWEST, NONCE, negotiation, parse_startup, upstream_packet

V3_0 = 3 << 16
V3_2 = 3 << 16 | 2
GREASE = 3 << 16 | 9999


def body(*texts: str) -> bytes:
    return b"".join(text.encode() + b"\0" for text in texts) + b"\0"


names = st.text(
    st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), min_size=1, max_size=10
)


@given(st.lists(st.tuples(names, names), max_size=5))
def test_every_parameter_reaches_the_server_in_its_order(pairs: list[tuple[str, str]]) -> None:
    kept = [pair for pair in pairs if not pair[0].startswith("_pq_.") and pair[0] != NONCE]
    given_texts = [text for pair in [*pairs, ("user", "me")] for text in pair]
    startup = parse_startup(V3_0, body(*given_texts))
    assert list(startup.parameters) == [*kept, ("user", "me")]
    packet = upstream_packet(startup, "n0nce")
    assert struct.unpack_from("!II", packet) == (len(packet), V3_0)
    expected = [text for pair in [*kept, ("user", "me"), (NONCE, "n0nce")] for text in pair]
    assert packet[8:] == body(*expected)


def test_a_nonce_of_the_clients_is_not_believed() -> None:
    startup = parse_startup(V3_0, body("user", "me", NONCE, "mine"))
    assert upstream_packet(startup, None)[8:] == body("user", "me")


def test_the_database_is_the_users_name_unless_given() -> None:
    assert parse_startup(V3_0, body("user", "me")).database == "me"
    assert parse_startup(V3_0, body("user", "me", "database", "")).database == "me"
    assert parse_startup(V3_0, body("user", "me", "database", "db")).database == "db"


@pytest.mark.parametrize(
    ("value", "replicating"), [("true", True), ("database", True), ("off", False), ("0", False)]
)
def test_a_walsender_is_recognised(value: str, replicating: bool) -> None:
    assert parse_startup(V3_0, body("user", "me", "replication", value)).replicating is replicating


@pytest.mark.parametrize(
    ("version", "packet", "error"),
    [
        (V3_0, b"", ProtocolViolation),
        (V3_0, b"user\0me", ProtocolViolation),
        (V3_0, b"user\0me\0", ProtocolViolation),
        (V3_0, b"user\0", ProtocolViolation),
        (V3_0, body("user", "me") + b"\0", ProtocolViolation),
        (V3_0, b"\0", InvalidAuthorization),
        (V3_0, body("database", "db"), InvalidAuthorization),
        (V3_0, body("user", ""), InvalidAuthorization),
        (4 << 16, body("user", "me"), FeatureNotSupported),
    ],
)
def test_what_postgresql_refuses_is_refused(version: int, packet: bytes, error: type[Error]) -> None:
    with pytest.raises(error):
        parse_startup(version, packet)


def test_a_known_version_is_left_to_the_server() -> None:
    for version in (V3_0, V3_2):
        startup = parse_startup(version, body("user", "me"))
        assert struct.unpack_from("!I", upstream_packet(startup, None), 4) == (version,)
        assert negotiation(startup, None) == b""
        assert negotiation(startup, (V3_0, ())) == negotiate_version(V3_0, ())


def test_more_than_we_know_is_not_passed_on_and_the_client_is_told() -> None:
    startup = parse_startup(GREASE, body("user", "me", "_pq_.test", "x"))
    packet = upstream_packet(startup, None)
    assert struct.unpack_from("!I", packet, 4) == (NEWEST,)
    assert b"_pq_" not in packet
    assert negotiation(startup, None) == negotiate_version(NEWEST, ("_pq_.test",))
    assert negotiation(startup, (V3_0, ())) == negotiate_version(V3_0, ("_pq_.test",))


def test_a_client_of_the_oldest_version_is_not_told_of_a_newer_one() -> None:
    startup = parse_startup(V3_0, body("user", "me", "_pq_.test", "x"))
    assert negotiation(startup, None) == negotiate_version(V3_0, ("_pq_.test",))


def test_the_servers_answer_is_read_back() -> None:
    assert parse_negotiate_version(negotiate_version(V3_2, ("a", "b"))[5:]) == (V3_2, ("a", "b"))
