"""The stream of changes into the delta log: at every cut it is the database of that moment (G2, G9, G11)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.capture.ledger import Writer
from tests.support.capture.site import SETTINGS, Site, ledger_site
from tests.support.running import servers
from tests.support.running.servers import Server

pytestmark = pytest.mark.service


@pytest.fixture(scope="module", params=[15, 18])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with servers.postgres(request.param, settings=SETTINGS) as started:
        yield started


@pytest.fixture
def site(server: Server, tmp_path: Path) -> Iterator[Site]:
    with ledger_site(server, tmp_path) as made:
        yield made


def test_the_ledger(site: Site) -> None:
    writer = Writer(site.connection, seed=1)
    with site.captured() as capture:
        writer.transact(150)
        site.catch_up(capture)
    site.check(writer)


def test_what_was_written_while_nobody_listened_is_there(site: Site) -> None:
    writer = Writer(site.connection, seed=2)
    for _ in range(4):
        with site.captured() as capture:
            writer.transact(10)
            site.catch_up(capture)
        writer.transact(10)
    with site.captured() as capture:
        site.catch_up(capture)
    site.check(writer)
