"""Every limit answers at once, and what is not used costs next to nothing (G17, G18)."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack

import psycopg
import pytest

from tests.support.running.processes import open_files, proxies, resident_bytes
from tests.support.running.servers import Gavial, Server, gavial, postgres
from tests.support.wire.client_messages import CancelRequest, CopyData, CopyDone, Query, Startup
from tests.support.wire.raw_client import (
    PROTOCOL_3_0,
    PROTOCOL_3_2,
    Address,
    Message,
    RawClient,
    sessions,
    startup,
)

pytestmark = pytest.mark.service

MOST = 20
IDLE = 500
IDLE_BYTES = 40_000


def refusal(address: Address) -> Message | None:
    """The first word to somebody who wants a session."""
    with RawClient(address.host, address.port) as client:
        client.send(startup(user=address.user, database=address.database))
        return client.receive()


def is_refused(address: Address) -> bool:
    """Whether there is no room."""
    first = refusal(address)
    return first is not None and first.kind == "E" and b"\0C53300\0" in first.body


@pytest.fixture(scope="module")
def narrow(postgres18: Server) -> Iterator[Gavial]:
    with gavial("--workers", "2", "--max-connections", str(MOST), upstream=postgres18) as running:
        yield running


def test_one_connection_too_many(narrow: Gavial) -> None:
    """G18: it is told so at once, the others notice nothing, and whoever leaves makes room."""
    address = Address.of(narrow.dsn())
    with sessions(address, MOST) as clients:
        for _ in range(30):
            assert is_refused(address)
        assert all(map(RawClient.works, clients))
        clients.pop().close()
        with sessions(address, 1):
            assert is_refused(address)
        assert all(map(RawClient.works, clients))


def test_the_limit_is_shared_by_all_processes(narrow: Gavial) -> None:
    """Each takes its part of the sessions."""
    with sessions(Address.of(narrow.dsn()), MOST):
        held = [open_files(pid) for pid in proxies(narrow.process.pid)]
        assert len(held) == 2
        assert abs(held[0] - held[1]) <= 4, held


@pytest.mark.parametrize("version", [PROTOCOL_3_0, PROTOCOL_3_2])
def test_cancelling_needs_no_room(narrow: Gavial, version: int) -> None:
    """G26: where nobody is let in any more, a statement can still be ended, by a key of any length."""
    address = Address.of(narrow.dsn())
    with sessions(address, MOST - 1), RawClient(address.host, address.port) as client:
        greeting = client.login(address, version)
        key = next(message.body for message in greeting if message.kind == "K")
        client.send(Query("create temp table t (a int); copy t from stdin"))
        client.until("G")
        assert is_refused(address)
        with RawClient(address.host, address.port) as other:
            other.send(CancelRequest(int.from_bytes(key[:4], "big"), key[4:]))
            assert other.receive() is None
        client.send(CopyData("1\n") + CopyDone())
        error = next(message for message in client.until("Z") if message.kind == "E")
        assert b"\0C57014\0" in error.body


def test_a_start_up_packet_has_a_longest_length(gavial18: Gavial) -> None:
    """It is refused by its header; nothing of it is awaited."""
    address = Address.of(gavial18.dsn())
    with RawClient(address.host, address.port) as client:
        client.send(Startup("user", "x" * 10_000)[:8])
        assert client.receive() is None


@pytest.fixture(scope="module")
def impatient(postgres18: Server) -> Iterator[Gavial]:
    with gavial("--startup-seconds", "1", upstream=postgres18) as running:
        yield running


@pytest.mark.parametrize("sent", [b"", b"\0\0", startup(user="postgres", database="postgres")])
def test_a_login_has_a_longest_time(impatient: Gavial, sent: bytes) -> None:
    address = Address.of(impatient.dsn())
    with RawClient.session(address) as already_in, RawClient(address.host, address.port) as client:
        client.send(sent)
        client.remainder()
        assert already_in.works()


def test_lost_clients_are_noticed(gavial18: Gavial) -> None:
    """The kernel asks whether the other end is still there, on both sides of the proxy."""
    address = Address.of(gavial18.dsn())
    with RawClient.session(address):
        command = ["ss", "-tnopH", "state", "established"]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        ours = [line for line in lines if any(f"pid={pid}," in line for pid in proxies(gavial18.process.pid))]
        assert len(ours) >= 2
        assert all("timer:(keepalive," in line or "timer:(on," in line for line in ours), ours


def test_five_hundred_idle_sessions() -> None:
    """G17: an idle session costs the proxy next to nothing, and stays alive."""
    with (
        postgres(18, settings={"max_connections": str(IDLE + 20)}) as server,
        gavial(upstream=server) as running,
        ExitStack() as stack,
    ):
        address = Address.of(running.dsn())
        workers = proxies(running.process.pid)
        with psycopg.connect(running.dsn()) as first:
            first.execute("select 1")
        before = sum(map(resident_bytes, workers))
        clients = [stack.enter_context(RawClient.session(address)) for _ in range(IDLE)]
        bytes_of_one = (sum(map(resident_bytes, workers)) - before) / IDLE
        assert bytes_of_one <= IDLE_BYTES, f"{bytes_of_one / 1000:.1f} kB each"
        assert all(map(RawClient.works, clients))
