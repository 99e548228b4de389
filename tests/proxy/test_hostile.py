"""Hostile and slow clients pay alone: the proxy stays small, and who behaves notices nothing (G17-G21)."""

from __future__ import annotations

import os
import random
import signal
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import psycopg
import pytest

from tests.support.running.processes import open_files, proxies, resident_bytes
from tests.support.running.servers import DEADLINE_SECONDS, Gavial, Server, gavial, wait_until
from tests.support.wire.client_messages import (
    Bind,
    CancelRequest,
    CopyData,
    CopyDone,
    Execute,
    GSSENCRequest,
    Message,
    Packet,
    Parse,
    Query,
    Raw,
    SSLRequest,
    Startup,
    Sync,
)  # fmt: skip
from tests.support.wire.raw_client import Address, RawClient, startup

pytestmark = pytest.mark.service

STARTUP_SECONDS = 2
MEGABYTE = 1 << 20
MOST_GROWTH = 24 * MEGABYTE
GIGABYTE = "select repeat('x', 1000000) from generate_series(1, 1000)"


@pytest.fixture(scope="module")
def running(postgres18: Server) -> Iterator[Gavial]:
    with gavial("--workers", "2", "--startup-seconds", str(STARTUP_SECONDS), upstream=postgres18) as running:
        yield running


@pytest.fixture
def address(running: Gavial) -> Address:
    return Address.of(running.dsn())


@pytest.fixture(autouse=True)
def unharmed(running: Gavial, address: Address) -> Iterator[None]:
    """Afterwards everybody else is served, and the proxy is as small as before, with nothing left open."""
    work(address)
    memory, files = resident(running), opened(running)
    yield
    work(address)
    wait_until(lambda: opened(running) <= files, "descriptors are left open")
    assert resident(running) - memory < MOST_GROWTH
    assert "Traceback" not in running.log.read_text()


def work(address: Address) -> None:
    """What an innocent client does, new sessions included."""
    for _ in range(4):
        with RawClient.session(address) as client:
            for _ in range(10):
                client.send(Query("select 1"))
                assert [message.kind for message in client.until("Z")] == ["T", "D", "C", "Z"]


def resident(running: Gavial) -> int:
    """Memory of all proxy processes."""
    return sum(map(resident_bytes, proxies(running.process.pid)))


def opened(running: Gavial) -> int:
    """Descriptors of all proxy processes."""
    return sum(map(open_files, proxies(running.process.pid)))


def sessions(server: Server, name: str) -> int:
    """How many sessions of an application the server has."""
    with psycopg.connect(server.dsn()) as connection:
        row = connection.execute(
            "select count(*) from pg_stat_activity where application_name = %s", [name]
        ).fetchone()
    assert row
    return int(row[0])


@contextmanager
def bounded(running: Gavial) -> Iterator[None]:
    """The proxy grows by no more than a little, at any time in between."""
    workers = proxies(running.process.pid)
    peak = before = sum(map(resident_bytes, workers))
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.05):
            peak = max(peak, sum(map(resident_bytes, workers)))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
    assert peak - before < MOST_GROWTH, f"{(peak - before) / MEGABYTE:.0f} MB more"


def ended(client: RawClient) -> bool:
    """Whether the peer closes the connection, whatever it says before."""
    with suppress(ConnectionResetError):
        while client.socket.recv(MEGABYTE):
            pass
    return True


# Before the login


@pytest.mark.parametrize("sent", [b"", b"\0", b"\0\0\0\x08", b"\0\0\0\x50\0\x03\0\0user\0"])
def test_a_start_that_is_never_finished(address: Address, sent: bytes) -> None:
    with RawClient(address.host, address.port) as client:
        client.send(sent)
        assert ended(client)


def test_a_byte_at_a_time_does_not_move_the_deadline(address: Address) -> None:
    """The time to log in counts from the beginning."""
    packet = startup(user=address.user, options="-c application_name=" + "x" * 5000)
    with RawClient(address.host, address.port) as client:
        client.socket.settimeout(0.2)
        give_up = time.monotonic() + DEADLINE_SECONDS
        for byte in packet:
            client.send(bytes((byte,)))
            try:
                if not client.socket.recv(1):
                    break
            except TimeoutError:
                assert time.monotonic() < give_up, "the proxy waits on"
            except ConnectionResetError:
                break
        else:
            pytest.fail("the proxy waited for the whole packet")


def test_a_password_that_never_comes(address: Address) -> None:
    with RawClient(address.host, address.port) as client:
        client.send(startup(user=address.user, database=address.database))
        assert client.receive()
        assert ended(client)


def test_five_hundred_half_open_connections(running: Gavial, address: Address) -> None:
    with ExitStack() as stack, bounded(running):
        clients = [stack.enter_context(RawClient(address.host, address.port)) for _ in range(500)]
        for client in clients:
            client.send(b"\0")
        work(address)
        assert all(map(ended, clients))


def test_connections_that_come_and_go(running: Gavial, address: Address) -> None:
    leave: tuple[Callable[[RawClient], None], ...] = (RawClient.close, RawClient.reset, RawClient.end)
    with bounded(running):
        for number in range(1500):
            client = RawClient(address.host, address.port)
            client.send(b"" if number % 2 else startup(user=address.user))
            leave[number % 3](client)
            client.close()


@pytest.mark.parametrize("length", [0, 1, 3, 7, 10_005, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF])
def test_start_packets_of_impossible_length(running: Gavial, address: Address, length: int) -> None:
    with RawClient(address.host, address.port) as client, bounded(running):
        client.send(Packet("x" * 4, length=length))
        assert ended(client)


@pytest.mark.parametrize("length", [0, 3, 70_000, 0x7FFFFFFF, -1, -0x80000000])
@pytest.mark.parametrize("kind", ["p", "Q", "\0"])
def test_messages_of_impossible_length_instead_of_a_password(
    running: Gavial, address: Address, kind: str, length: int
) -> None:
    with RawClient(address.host, address.port) as client, bounded(running):
        client.send(Startup("user", address.user, "database", address.database))
        assert client.receive()
        client.send(Message(kind, "x" * 100, length=length))
        assert ended(client)


def test_ten_thousand_parameters(running: Gavial, address: Address) -> None:
    with RawClient(address.host, address.port) as client, bounded(running):
        client.send(Packet(struct.pack("!i", 196608) + b"a\0b\0" * 10_000 + b"\0"))
        assert ended(client)


@pytest.mark.parametrize(
    "greeting",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        bytes.fromhex("16030100f8010000f40303") + b"\x5a" * 240,
        b"\x16" * 5000,
        bytes(5000),
        b"\xff" * 5000,
    ],
)
def test_other_protocols(address: Address, greeting: bytes) -> None:
    with RawClient(address.host, address.port) as client:
        client.send(greeting)
        assert ended(client)


def test_random_bytes(running: Gavial, address: Address) -> None:
    chance = random.Random(17)
    with bounded(running), ExitStack() as stack:
        for _ in range(200):
            client = stack.enter_context(RawClient(address.host, address.port))
            client.send(chance.randbytes(chance.randrange(1, 3000)))
            client.end()
            assert ended(client)


@pytest.mark.parametrize("request_", [SSLRequest(), GSSENCRequest()], ids=["TLS", "GSSAPI"])
def test_bytes_behind_a_request_for_encryption_are_never_read(address: Address, request_: bytes) -> None:
    with RawClient(address.host, address.port) as client:
        client.send(request_ + Startup("user", address.user, "database", address.database))
        answer = client.receive()
        assert answer and answer.kind == "E" and b"C08P01\0" in answer.body
        assert client.receive() is None


@pytest.mark.parametrize("request_", [SSLRequest(), GSSENCRequest()], ids=["TLS", "GSSAPI"])
def test_nobody_asks_for_encryption_for_ever(address: Address, request_: bytes) -> None:
    with RawClient(address.host, address.port) as client:
        client.send(request_)
        assert client.take(1) == b"N"
        client.send(request_)
        assert ended(client)


def test_random_cancel_keys(running: Gavial, address: Address) -> None:
    """G26: nobody's statement ends by a key that was guessed, whether they come singly or in a flood."""
    chance = random.Random(18)
    with RawClient.session(address) as client, bounded(running):
        client.send(Query("select pg_sleep(1)"))
        for at_once in (1, 1, 1, 150, 150):
            with ExitStack() as stack:
                others = [stack.enter_context(RawClient(address.host, address.port)) for _ in range(at_once)]
                for other in others:
                    key = chance.randbytes(chance.choice((4, 32)))
                    other.send(CancelRequest(chance.randrange(1 << 20), key))
                assert all(map(ended, others))
        assert [message.kind for message in client.until("Z")] == ["T", "D", "C", "Z"]


# After the login


@pytest.mark.parametrize("length", [0, 3, 0x3FFFFFFF, 0x7FFFFFFF, -1, -0x80000000])
@pytest.mark.parametrize("kind", ["Q", "P", "B", "d", "S", "E", "F"])
def test_messages_of_impossible_length(running: Gavial, address: Address, kind: str, length: int) -> None:
    """Nothing is kept for what a header announces."""
    with RawClient.session(address) as client, bounded(running):
        client.send(Message(kind, "x" * 1000, length=length))
        client.end()
        assert ended(client)


@pytest.mark.parametrize("text", ["select length('%s')", "show gavial.version; select length('%s')"])
def test_large_statements_pass_without_being_kept(running: Gavial, address: Address, text: str) -> None:
    with RawClient.session(address) as client, bounded(running):
        client.send(Query(text % ("x" * (100 * MEGABYTE))))
        last = client.until("Z")[-2:]
        assert [message.kind for message in last] in (["C", "Z"], ["E", "Z"])


GREEDY = {
    "select": Query(GIGABYTE),
    "copy": Query(f"copy ({GIGABYTE}) to stdout"),
    "extended": Parse("", GIGABYTE) + Bind() + Execute() + Sync(),
}


@pytest.mark.parametrize("messages", GREEDY.values(), ids=GREEDY)
def test_a_result_that_is_never_read(
    running: Gavial, address: Address, postgres18: Server, messages: bytes
) -> None:
    """G19: the server waits; nobody else does, and when the client goes, its session does."""
    with RawClient.session(address, application_name="reads nothing") as client, bounded(running):
        client.send(messages)
        with psycopg.connect(postgres18.dsn(), autocommit=True) as watch:
            waiting = "select 1 from pg_stat_activity where application_name = 'reads nothing'"
            where = f"{waiting} and wait_event = 'ClientWrite'"
            wait_until(lambda: watch.execute(where).fetchone() is not None, "the server does not wait")
        work(address)
    wait_until(lambda: sessions(postgres18, "reads nothing") == 0, "the session outlives its client")


def test_a_pipeline_whose_answers_are_not_read(running: Gavial, address: Address) -> None:
    """Ten thousand batches go in before the first answer is looked at; every answer arrives."""
    batch = Parse("", "select repeat('x', 5000)") + Bind() + Execute() + Sync()
    with RawClient.session(address) as client, bounded(running):
        sender = threading.Thread(target=client.send, args=(batch * 10_000,))
        sender.start()
        work(address)
        answers = client.until("Z", 10_000)
        sender.join()
    assert len(answers) == 5 * 10_000


def test_ten_thousand_parses_without_a_sync(running: Gavial, address: Address) -> None:
    with RawClient.session(address) as client, bounded(running):
        client.send(Parse("", "select 1") * 10_000 + Sync())
        assert len(client.until("Z")) == 10_001


def test_a_server_that_does_not_read(running: Gavial, address: Address) -> None:
    """Data for a server that stands still waits at the client, and is all there afterwards."""
    with RawClient.session(address) as client, bounded(running):
        client.send(Query("select pg_backend_pid()"))
        row = next(message for message in client.until("Z") if message.kind == "D")
        backend = int(row.body[6:])
        client.send(Query("create temp table t (a text); copy t from stdin; select sum(length(a)) from t"))
        client.until("G")
        os.kill(backend, signal.SIGSTOP)
        sender = threading.Thread(target=client.send, args=(CopyData("x" * 999 + "\n") * 100_000,))
        sender.start()
        try:
            work(address)
        finally:
            os.kill(backend, signal.SIGCONT)
        sender.join()
        client.send(CopyDone())
        row = next(message for message in client.until("Z") if message.kind == "D")
        assert row.body[6:] == b"99900000"


LEAVINGS: dict[str, tuple[bytes, str]] = {
    "idle": (b"", ""),
    "in a transaction": (Query("begin; lock table pg_amop"), "Z"),
    "in a COPY from it": (Query("create temp table t (a int); copy t from stdin") + CopyData("1\n"), "G"),
    "in a COPY to it": (
        Query("copy (select repeat('x', 1000000) from generate_series(1, 50)) to stdout"),
        "d",
    ),
    "in the middle of a message": (Raw(b"Q\0\0\x10\0select"), ""),
    "in the middle of a statement": (Query("select pg_sleep(2)"), ""),
}


@pytest.mark.parametrize("leave", [RawClient.close, RawClient.reset, RawClient.end])
@pytest.mark.parametrize("where", LEAVINGS)
def test_clients_that_leave(
    address: Address, postgres18: Server, where: str, leave: Callable[[RawClient], None]
) -> None:
    """Whoever goes without a word, or says nothing more, leaves no session and no lock behind."""
    sent, until = LEAVINGS[where]
    client = RawClient.session(address, application_name="leaves")
    client.send(sent)
    if until:
        client.until(until)
    leave(client)
    if leave is RawClient.end:
        assert ended(client)
    client.close()
    wait_until(lambda: sessions(postgres18, "leaves") == 0, "the session outlives its client")


@pytest.mark.parametrize("words", ["end", "heard"])
def test_notices_of_ours_out_of_turn_end_the_session(address: Address, words: str) -> None:
    """What came before reaches the client, then the error, then nothing."""
    client = RawClient.session(address)
    raised = "RAISE NOTICE USING ERRCODE = 'GV002', MESSAGE = current_setting('gavial.nonce')"
    client.send(Query(f"SELECT 1; DO $$ BEGIN {raised}, DETAIL = '{words}'; END $$; SELECT 2"))
    messages = client.until("none")
    assert [message.kind for message in messages] == ["T", "D", "C", "E"]
    assert b"\0C08P01\0" in messages[-1].body
    client.close()
