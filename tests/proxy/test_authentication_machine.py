"""The authentication matrix as the pure machine decides it; test_authentication.py has real servers (G21)."""

from __future__ import annotations

import struct

import pytest

from catalog.errors import Error, FeatureNotSupported, InvalidAuthorization, ProtocolViolation
from proxy.wire.authentication import (
    Ask,
    Authenticated,
    Authentication,
    Legs,
    NeedVerifier,
    Rejected,
    ToServer,
)
from proxy.wire.messages import message, sasl_initial, sasl_mechanisms

BOTH_TLS = Legs(client_tls=True, client_local=False, upstream_tls=True)
UPSTREAM_TLS = Legs(client_tls=False, client_local=False, upstream_tls=True)
CLIENT_TLS = Legs(client_tls=True, client_local=False, upstream_tls=False)
LEGS = (BOTH_TLS, UPSTREAM_TLS, CLIENT_TLS, Legs(client_tls=False, client_local=False, upstream_tls=False))

OFFER = struct.pack("!i", 10) + b"SCRAM-SHA-256-PLUS\x00SCRAM-SHA-256\x00\x00"


def machine(legs: Legs, *, allow_trust: bool = False) -> Authentication:
    return Authentication("someone", legs, allow_trust=allow_trust)


@pytest.mark.parametrize("legs", LEGS)
def test_plus_is_never_offered(legs: Legs) -> None:
    assert list(machine(legs).from_server(ord("R"), OFFER)) == [
        Ask(sasl_mechanisms(["SCRAM-SHA-256"]), "SASL")
    ]


@pytest.mark.parametrize("legs", LEGS)
def test_a_client_that_takes_plus_all_the_same_is_refused(legs: Legs) -> None:
    way_in = machine(legs)
    list(way_in.from_server(ord("R"), OFFER))
    with pytest.raises(ProtocolViolation):
        list(way_in.from_client(sasl_initial("SCRAM-SHA-256-PLUS", b"p=tls-server-end-point,,n=,r=a")[5:]))


@pytest.mark.parametrize("legs", LEGS)
@pytest.mark.parametrize("flag", [b"n", b"y"])
def test_scram_is_relayed_but_for_y_over_two_tls_legs(legs: Legs, flag: bytes) -> None:
    way_in = machine(legs)
    list(way_in.from_server(ord("R"), OFFER))
    body = sasl_initial("SCRAM-SHA-256", flag + b",,n=,r=a")[5:]
    steps = list(way_in.from_client(body))
    if flag == b"y" and legs.upstream_tls:
        assert steps == [NeedVerifier()]
    else:
        assert steps == [ToServer(message(b"p", body))]


@pytest.mark.parametrize("legs", LEGS)
def test_md5_is_relayed_everywhere(legs: Legs) -> None:
    body = struct.pack("!i", 5) + b"salt"
    way_in = machine(legs)
    assert list(way_in.from_server(ord("R"), body)) == [Ask(message(b"R", body), "password")]
    assert list(way_in.from_client(b"md5x\x00")) == [ToServer(message(b"p", b"md5x\x00"))]


def test_a_password_asked_for_inside_tls_does_not_travel_in_the_open() -> None:
    body = struct.pack("!i", 3)
    with pytest.raises(InvalidAuthorization, match="clear-text"):
        list(machine(UPSTREAM_TLS).from_server(ord("R"), body))
    for legs in (BOTH_TLS, Legs(client_tls=False, client_local=True, upstream_tls=True), LEGS[3]):
        assert list(machine(legs).from_server(ord("R"), body)) == [Ask(message(b"R", body), "password")]


def test_no_challenge_no_entry_unless_trust_is_allowed() -> None:
    ok = struct.pack("!i", 0)
    with pytest.raises(InvalidAuthorization, match="without asking for a password"):
        list(machine(LEGS[3]).from_server(ord("R"), ok))
    assert Authenticated() in list(machine(LEGS[3], allow_trust=True).from_server(ord("R"), ok))


@pytest.mark.parametrize("code", [7, 8, 9])
def test_gss_is_refused_by_name(code: int) -> None:
    with pytest.raises(FeatureNotSupported, match="GSSAPI and SSPI"):
        list(machine(LEGS[3]).from_server(ord("R"), struct.pack("!i", code)))


def test_a_demand_for_a_client_certificate_gets_our_hint() -> None:
    refusal = b"SFATAL\x00C28000\x00Mconnection requires a valid client certificate\x00\x00"
    (step,) = machine(BOTH_TLS).from_server(ord("E"), refusal)
    assert isinstance(step, Rejected)
    assert b"cannot pass through gavial" in step.data
    assert struct.unpack("!I", step.data[1:5])[0] == len(step.data) - 1


@pytest.mark.parametrize("kind", ["Z", "K", "D"])
def test_an_upstream_out_of_order_is_a_protocol_violation(kind: str) -> None:
    with pytest.raises(Error):
        list(machine(LEGS[3]).from_server(ord(kind), b""))
