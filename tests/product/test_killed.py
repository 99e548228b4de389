"""Whatever is killed comes back by itself, leaves nothing behind, and loses nothing committed (G11)."""

from __future__ import annotations

import functools
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.support.running.processes import alive, descendants, proxies
from tests.support.running.servers import DEADLINE_SECONDS, Gavial, Server, gavial, postgres, wait_until
from tests.support.wire.client_messages import Query
from tests.support.wire.raw_client import Address, Message, RawClient, sessions, startup

pytestmark = pytest.mark.service

MOST = 12
SESSION_ENDED = (b"57P01", b"57P02", b"08006")
NOT_YET = (b"57P03",)


def sqlstate(message: Message) -> bytes:
    """The SQLSTATE of an error."""
    return next(field[1:] for field in message.body.split(b"\0") if field[:1] == b"C")


def last_words(client: RawClient) -> list[bytes]:
    """SQLSTATEs of the errors with which a session ends, which it must."""
    return [sqlstate(message) for message in client if message.kind == "E"]


def answer(address: Address) -> bytes:
    """What somebody gets who wants a session: a SQLSTATE, or nothing where it is given."""
    try:
        with RawClient(address.host, address.port) as client:
            greeting = client.login(address)
            return sqlstate(greeting[-1]) if greeting and greeting[-1].kind == "E" else b""
    except ConnectionRefusedError:
        return b"refused"


def accepts(address: Address) -> bool:
    """Whether there is a session to be had."""
    with RawClient(address.host, address.port) as client:
        greeting = client.login(address)
        return bool(greeting) and greeting[-1].kind == "Z" and client.works()


@pytest.fixture
def home() -> Iterator[Path]:
    """A directory that the server's account can reach."""
    with tempfile.TemporaryDirectory(prefix="gavial-test-", dir="/tmp") as name:
        Path(name).chmod(0o711)
        yield Path(name)


@pytest.fixture(scope="module")
def running(postgres18: Server) -> Iterator[Gavial]:
    with gavial("--workers", "2", "--max-connections", str(MOST), upstream=postgres18) as running:
        yield running


def test_a_proxy_process(running: Gavial) -> None:
    """Only its own sessions end; new ones begin at once, and another process takes its place."""
    address = Address.of(running.dsn())
    with sessions(address, 8) as clients:
        victim, survivor = proxies(running.process.pid)
        os.kill(victim, signal.SIGKILL)
        assert [client.works() for client in clients].count(True) == 4
        assert accepts(address)
        wait_until(lambda: len(proxies(running.process.pid)) == 2, "nothing takes its place")
        assert survivor in proxies(running.process.pid) and not alive(victim)


def test_proxy_processes_again_and_again(running: Gavial) -> None:
    """G18: what they held is free again; no connection is counted for ever."""
    address = Address.of(running.dsn())
    for _ in range(3):
        with sessions(address, 4) as clients:
            for pid in proxies(running.process.pid):
                os.kill(pid, signal.SIGKILL)
            assert not any(map(RawClient.works, clients))
        wait_until(lambda: len(proxies(running.process.pid)) == 2, "nothing takes their place")
    with sessions(address, MOST):
        assert answer(address) == b"53300"


def test_a_backend(running: Gavial) -> None:
    """PostgreSQL begins anew; every session ends with its word, or with ours for the one that had none."""
    address = Address.of(running.dsn())
    with sessions(address, 2) as (victim, other):
        victim.send(Query("select pg_backend_pid()"))
        row = next(message for message in victim.until("Z") if message.kind == "D")
        os.kill(int(row.body[6:]), signal.SIGKILL)
        assert last_words(victim) == [b"08006"]
        (word,) = last_words(other)
        assert word in SESSION_ENDED
    wait_until(lambda: accepts(address), "there are no sessions to be had")


def test_the_server_behind() -> None:
    """G11: sessions end with a reason, new ones are told to wait, and begin when the server is back."""
    with postgres(18) as server, gavial("--workers", "2", upstream=server) as running:
        address = Address.of(running.dsn())
        with sessions(address, 4) as clients:
            server.kill()
            for client in clients:
                (word,) = last_words(client)
                assert word in SESSION_ENDED
        assert answer(address) in NOT_YET
        server.start()
        wait_until(lambda: accepts(address), "there are no sessions to be had")


def embedded_server(running: Gavial) -> int:
    """The postmaster that Gavial runs."""
    children = [
        descendant
        for descendant in descendants(running.process.pid)
        if descendant.parent == running.process.pid
    ]
    (postmaster,) = [child.pid for child in children if "proxy.processes.worker" not in child.command]
    return postmaster


def keep(running: Gavial, value: int) -> None:
    """Commit a row."""
    with psycopg.connect(running.dsn()) as connection:
        connection.execute("create table if not exists kept (value int)")
        connection.execute("insert into kept values (%s)", [value])


def kept(running: Gavial) -> list[int]:
    """The rows that were committed."""
    with psycopg.connect(running.dsn()) as connection:
        return [value for (value,) in connection.execute("select value from kept order by value")]


def test_the_embedded_server(gavial_embedded: Gavial) -> None:
    """It is started again by itself, and has everything that was committed."""
    address = Address.of(gavial_embedded.dsn())
    keep(gavial_embedded, 1)
    before = embedded_server(gavial_embedded)
    with RawClient.session(address) as client:
        os.kill(before, signal.SIGKILL)
        (word,) = last_words(client)
        assert word in SESSION_ENDED
    answers = set()

    def back() -> bool:
        answers.add(answer(address))
        return b"" in answers

    wait_until(back, "the server does not come back")
    assert answers <= {b"", *NOT_YET}
    assert embedded_server(gavial_embedded) != before
    assert kept(gavial_embedded) == [1]


@pytest.mark.parametrize("victims", ["gavial", "everything"])
def test_everything_ends_and_begins_again(home: Path, victims: str) -> None:
    """After SIGKILL nothing goes on alone; started again on the same data, nothing is missing."""
    start = functools.partial(
        gavial, data=home / "data", environment={"GAVIAL_SYSTEM_DIR": str(home / "system")}
    )
    for attempt in (1, 2):
        with start() as running, RawClient.session(Address.of(running.dsn())) as session:
            keep(running, attempt)
            family = [descendant.pid for descendant in descendants(running.process.pid)]
            assert len(family) > 2
            running.kill()
            for pid in filter(alive, family if victims == "everything" else []):
                os.kill(pid, signal.SIGKILL)
            wait_until(functools.partial(none_alive, family), "something goes on alone")
            assert last_words(session) in ([], [b"57P01"], [b"57P02"], [b"08006"])
    with start() as running:
        assert kept(running) == [1, 2]


def none_alive(pids: list[int]) -> bool:
    """Whether all of them have ended."""
    return not any(map(alive, pids))


def test_told_to_stop(postgres18: Server) -> None:
    """SIGTERM: who waits is told so, who works may finish in time, who does not is cut off; status 0."""
    with (
        gavial("--workers", "2", "--drain-seconds", "4", upstream=postgres18) as running,
        sessions(Address.of(running.dsn()), 3) as (idle, quick, slow),
        login_begun(Address.of(running.dsn())) as half,
    ):
        quick.send(Query("select pg_sleep(1)"))
        slow.send(Query("select pg_sleep(30)"))
        family = [descendant.pid for descendant in descendants(running.process.pid)]
        time.sleep(0.3)
        stopping = threading.Thread(target=running.stop)
        stopping.start()
        assert last_words(idle) == [b"57P01"]
        assert [message.kind for message in quick] == ["T", "D", "C", "Z", "E"]
        assert last_words(slow) == [b"57P01"]
        assert last_words(half) in ([], [b"57P01"])
        stopping.join(DEADLINE_SECONDS)
        assert running.process.poll() == 0
        assert none_alive(family)


@contextmanager
def login_begun(address: Address) -> Iterator[RawClient]:
    """A client that is asked for its password."""
    with RawClient(address.host, address.port) as client:
        client.send(startup(user=address.user, database=address.database))
        assert client.receive()
        yield client


def test_told_to_stop_with_clients_that_say_nothing_more(postgres18: Server) -> None:
    """Half-closed, in the middle of a message, or not reading: none of them keeps it from stopping."""
    with (
        gavial("--drain-seconds", "1", upstream=postgres18) as running,
        sessions(Address.of(running.dsn()), 3) as clients,
    ):
        clients[0].send(Query("select pg_sleep(10)"))
        clients[0].end()
        clients[1].send(b"Q\0\0\x10\0select")
        clients[2].send(Query("select repeat('x', 1000000) from generate_series(1, 1000)"))
        time.sleep(0.3)
        running.stop()


def test_no_statement_is_sent_twice(gavial18: Gavial, postgres18: Server) -> None:
    """A session that is ended in the middle of a statement ends; nothing of it is repeated."""
    address = Address.of(gavial18.dsn())
    with psycopg.connect(postgres18.dsn(), autocommit=True) as connection:
        connection.execute("create table counted (n int)")
        try:
            with RawClient.session(address, application_name="once") as client:
                client.send(Query("begin; insert into counted values (1); commit; select pg_sleep(600)"))
                end = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'once'"
                sleeping = f"{end} and wait_event = 'PgSleep'"
                wait_until(lambda: connection.execute(sleeping).fetchone() is not None, "it does not begin")
                assert last_words(client) == [b"57P01"]
            assert connection.execute("select count(*) from counted").fetchone() == (1,)
        finally:
            connection.execute("drop table counted")


def test_data_directory_removed_under_a_running_service() -> None:
    """It ends with one line, and leaves nothing running."""
    with gavial() as running:
        shutil.rmtree(running.data, ignore_errors=True)  # its server may be making files meanwhile
        assert running.process.wait(DEADLINE_SECONDS) == 1
        assert "the data directory was removed or replaced" in running.log.read_text()
