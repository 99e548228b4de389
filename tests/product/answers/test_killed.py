"""Processes are killed where it hurts: answers are exact all the same, and nothing is left (G9, G10, G11)."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator

import pytest

from tests.support.answers.answering import check, ended
from tests.support.answers.bank import QUERIES, transfer
from tests.support.answers.killing import POINTS, VICTIMS, Site
from tests.support.capture.databases import coordinator, one
from tests.support.running import servers
from tests.support.running.servers import gavial, wait_until
from tests.support.running.standing_databases import session

pytestmark = pytest.mark.service

# Each point, each victim three times; all of them together: scripts/kill-matrix.
RUNS = [(POINTS[number % len(POINTS)], VICTIMS[number % len(VICTIMS)]) for number in range(12)]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with servers.postgres(18) as server, gavial("--proxy-only", upstream=server) as proxy:
        made = Site(server, proxy.dsn(), tmp_path_factory.mktemp("killed"))
        yield made
        made.end()


@pytest.mark.parametrize(("point", "victim"), RUNS)
def test_killed(site: Site, point: str, victim: str) -> None:
    site.survive(point, victim)


@pytest.mark.parametrize("point", ["publish: before commit", "capture: sealed"])
def test_an_error_that_nobody_foresaw(site: Site, point: str) -> None:
    """It is logged with its place, and everything goes on after a pause."""
    site.err(point)


def test_a_second_one_waits(site: Site) -> None:
    """As long as the first lives, which does not notice."""
    other = site.home / "second.log"
    with coordinator(site.dsn, site.home / "warehouse", other), session(site.dsn) as user:
        wait_until(lambda: "It still holds its lock" in other.read_text(), "the second is not refused")
        transfer(user, random.Random(2))
        check(user, *QUERIES)


def test_who_was_replaced_publishes_nothing(site: Site) -> None:
    """It was asleep while another took over, and wakes with an answer in its hands."""
    triggers = "SELECT count(*) FROM gavial.triggers"
    with site.stopped("publish: fired", 1) as runs, session(site.dsn) as user:
        user.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND application_name = 'gavial coordinator'"
        )
        with coordinator(site.dsn, site.home / "warehouse", site.home / "other.log"):
            assert all(ended(user, run).state == "done" for run in runs)
            published = one(user, triggers)
            os.kill(site.running.process.pid, signal.SIGCONT)
            wait_until(lambda: "taken this database over" in site.log.read_text(), "it is not told")
            assert one(user, triggers) == published
            check(user, *QUERIES)
