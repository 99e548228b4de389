"""Capture is killed, and so is the server: the log is the database all the same (G9, G10, G11)."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from catalog.capture.store import manifest
from catalog.failpoints import VARIABLE
from tests.support.capture.ledger import Writer, prepare
from tests.support.capture.site import SETTINGS, Site
from tests.support.running import servers
from tests.support.running.servers import Server, wait_until

pytestmark = pytest.mark.service
SIGKILL = -9


@pytest.fixture(params=[15, 18])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with servers.postgres(request.param, settings=SETTINGS) as started:
        yield started


@contextmanager
def captor(site: Site, failpoint: str = "") -> Iterator[subprocess.Popen[bytes]]:
    """A process that captures, and dies at a failpoint or with this context."""
    command = [sys.executable, "-m", "tests.support.capture.captor", site.dsn, site.slot, str(site.home)]
    environment = {**os.environ, VARIABLE: failpoint} if failpoint else dict(os.environ)
    with (site.home / "captor.log").open("ab") as log:
        process = subprocess.Popen(command, env=environment, stderr=log)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    "point", ["capture: batch sealed", "capture: sealed", "capture: committed", "spilled"]
)
def test_killed_at_a_failpoint(server: Server, tmp_path: Path, point: str) -> None:
    with Site(server, tmp_path) as site:
        with site.captured():
            prepare(site.connection)
        writer = Writer(site.connection, seed=3)
        for hit in (1, 2, 4):
            with captor(site, f"{point}:{hit}:kill") as process:
                while process.poll() is None:
                    writer.transact()
                    if point == "spilled":
                        writer.transact_much()
                    time.sleep(0.1)
                assert process.returncode == SIGKILL, (tmp_path / "captor.log").read_text()
        with site.captured() as capture:
            site.catch_up(capture)
        site.check(writer)


def test_the_server_is_killed_and_delivers_again(server: Server, tmp_path: Path) -> None:
    """What was confirmed since its last checkpoint the server has forgotten."""
    with Site(server, tmp_path) as site:
        with site.captured():
            prepare(site.connection)
        writer = Writer(site.connection, seed=4)
        site.connection.execute("CHECKPOINT")
        with captor(site) as process:
            for _ in range(3):
                writer.transact(20)
                wait_until(lambda: site.captured_ledger() == writer.number, "capture does not catch up")
                server.kill()
                server.start()
                site.connection.close()
                site.connect()
                writer.connection = site.connection
            assert process.poll() is None
        with site.captured() as capture:
            site.catch_up(capture)
        site.check(writer)


def test_killed_wherever_it_is(server: Server, tmp_path: Path) -> None:
    """By chance; also while it recovers."""
    moments = random.Random(5)
    with Site(server, tmp_path) as site:
        with site.captured():
            prepare(site.connection)
        writer = Writer(site.connection, seed=5)
        for _ in range(5):
            end = time.monotonic() + moments.uniform(0.5, 2)
            with captor(site):
                while time.monotonic() < end:
                    writer.transact()
                    time.sleep(0.02)
        with site.captured() as capture:
            site.catch_up(capture)
        site.check(writer)
        named = {batch.file for batch in manifest(site.connection)}
        site.warehouse.remove(site.warehouse.unnamed(named))
        site.check(writer)
