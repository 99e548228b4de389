"""SCRAM on both sides of the proxy, against each other and against a verifier made from a password (G21)."""

from __future__ import annotations

import base64
import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.errors import InvalidPassword, ProtocolViolation
from proxy.wire.scram import ScramClient, ScramServer, Verifier, mock_verifier, parse_verifier, split_gs2


def keys_of(password: bytes, salt: bytes, iterations: int) -> tuple[bytes, Verifier]:
    """Client key and verifier as RFC 5802 derives them."""
    salted = hashlib.pbkdf2_hmac("sha256", password, salt, iterations)
    client_key = hmac.digest(salted, b"Client Key", "sha256")
    stored = hashlib.sha256(client_key).digest()
    return client_key, Verifier(iterations, salt, stored, hmac.digest(salted, b"Server Key", "sha256"))


@given(st.binary(min_size=1), st.binary(min_size=1, max_size=32), st.integers(1, 50))
def test_the_right_key_is_let_in_and_learnt(password: bytes, salt: bytes, iterations: int) -> None:
    client_key, verifier = keys_of(password, salt, iterations)
    client = ScramClient(client_key, verifier)
    server = ScramServer(verifier, client.first)
    learnt, final = server.finish(client.respond(server.challenge), "someone")
    client.verify(final)
    assert learnt == client_key


@given(st.binary(min_size=1))
def test_a_wrong_password_is_refused(password: bytes) -> None:
    _, verifier = keys_of(b"right" + password, b"salt", 2)
    wrong, _ = keys_of(password, b"salt", 2)
    client = ScramClient(wrong, verifier)
    server = ScramServer(verifier, client.first)
    with pytest.raises(InvalidPassword, match='password authentication failed for user "someone"'):
        server.finish(client.respond(server.challenge), "someone")


def test_a_user_without_verifier_gets_the_same_challenge_each_time_and_never_in() -> None:
    mock = mock_verifier("nobody", b"secret")
    assert mock == mock_verifier("nobody", b"secret")
    assert mock.salt != mock_verifier("nobody else", b"secret").salt
    client = ScramClient(b"k" * 32, mock)
    server = ScramServer(mock, client.first)
    with pytest.raises(InvalidPassword):
        server.finish(client.respond(server.challenge), "nobody")


@given(st.binary(max_size=80))
def test_garbage_is_a_protocol_violation_and_nothing_else(garbage: bytes) -> None:
    client_key, verifier = keys_of(b"p", b"salt", 2)
    try:
        server = ScramServer(verifier, garbage)
    except ProtocolViolation:
        server = ScramServer(verifier, ScramClient(client_key, verifier).first)
    with pytest.raises((ProtocolViolation, InvalidPassword)):
        server.finish(garbage, "someone")


def test_a_changed_verifier_upstream_is_noticed() -> None:
    client_key, verifier = keys_of(b"p", b"salt", 2)
    _, changed = keys_of(b"p", b"other", 2)
    client = ScramClient(client_key, verifier)
    with pytest.raises(InvalidPassword, match="changed"):
        client.respond(ScramServer(changed, client.first).challenge)


def test_verifiers_are_read_as_postgresql_writes_them() -> None:
    _, verifier = keys_of(b"p", b"0123456789abcdef", 4096)
    salt, stored, server = (
        base64.b64encode(part).decode() for part in (verifier.salt, verifier.stored_key, verifier.server_key)
    )
    assert parse_verifier(f"SCRAM-SHA-256$4096:{salt}${stored}:{server}") == verifier
    for other in ("", "md5abc", "SCRAM-SHA-256$x:y$z:w", "SCRAM-SHA-1$1:aa$aa:aa"):
        assert parse_verifier(other) is None


def test_the_channel_binding_flag_is_read() -> None:
    assert split_gs2(b"y,,n=,r=abc") == (b"y,,", "n=,r=abc")
    assert split_gs2(b"n,a=me,n=,r=abc") == (b"n,a=me,", "n=,r=abc")
