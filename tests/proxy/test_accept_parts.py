"""PROXY headers, and the table by which workers share connections (G18)."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator

import pytest

from catalog.errors import ProtocolViolation
from proxy.net.counts import Counts, make_table
from proxy.wire.haproxy import rest_size, source

SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"


def header(command: int, family: int, rest: bytes) -> tuple[bytes, bytes]:
    return SIGNATURE + bytes([command, family]) + struct.pack("!H", len(rest)), rest


def test_a_tcp_source_is_told() -> None:
    four = socket.inet_aton("192.0.2.7") + socket.inet_aton("192.0.2.1") + struct.pack("!HH", 1234, 5433)
    prefix, rest = header(0x21, 0x11, four)
    assert rest_size(prefix) == len(rest)
    assert source(prefix, rest) == "192.0.2.7:1234"
    six = socket.inet_pton(socket.AF_INET6, "2001:db8::7") * 2 + struct.pack("!HH", 1234, 5433)
    assert source(*header(0x21, 0x21, six)) == "[2001:db8::7]:1234"


def test_a_balancer_may_speak_for_itself() -> None:
    assert source(*header(0x20, 0x00, b"")) is None
    assert source(*header(0x21, 0x31, b"x" * 216)) is None


@pytest.mark.parametrize(
    "prefix",
    [
        b"PROXY TCP4 192.0",
        SIGNATURE + bytes([0x11, 0x11, 0, 12]),
        SIGNATURE + bytes([0x21, 0x11, 0xFF, 0xFF]),
        b"\x00" * 16,
    ],
)
def test_anything_else_is_a_protocol_violation(prefix: bytes) -> None:
    with pytest.raises(ProtocolViolation):
        rest_size(prefix)


def test_an_address_must_fit_its_family() -> None:
    with pytest.raises(ProtocolViolation):
        source(*header(0x21, 0x11, b"short"))


@pytest.fixture
def table() -> Iterator[int]:
    descriptor = make_table(2)
    yield descriptor
    os.close(descriptor)


def test_connections_go_to_the_least_loaded_and_to_oneself_when_equal(table: int) -> None:
    first, second = Counts(table, 2, 0), Counts(table, 2, 1)
    assert (first.least_loaded(), second.least_loaded()) == (0, 1)
    first.assign(0)
    assert (first.least_loaded(), second.least_loaded()) == (1, 1)
    first.assign(1)
    assert (first.load(0), second.load(1), second.total()) == (1, 1, 2)
    second.close()
    assert (first.total(), first.least_loaded()) == (1, 1)


def test_a_hand_over_that_failed_is_taken_back(table: int) -> None:
    counts = Counts(table, 2, 0)
    counts.assign(1)
    counts.assign(1, -1)
    assert counts.total() == 0


def test_the_connections_of_a_dead_worker_are_gone(table: int) -> None:
    first, second = Counts(table, 2, 0), Counts(table, 2, 1)
    for _ in range(3):
        first.assign(1)
    second.close()
    first.forget(1)
    assert first.total() == 0
    first.assign(1)
    assert first.total() == 1
