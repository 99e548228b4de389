"""pg_dump, pg_restore and psql carry a database through Gavial and it is the same on the other side."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.product.clients.programs import SOURCES, postgres_program, run
from tests.support.running.servers import Gavial, Server

pytestmark = pytest.mark.service


class Ends:
    """A server, Gavial before it, and two databases: one that is full and one to fill."""

    def __init__(self, server: Server, proxy: Gavial) -> None:
        self.server = server
        self.proxy = proxy

    def program(self, name: str) -> str:
        return postgres_program(name, self.server.major)

    def content(self, database: str) -> str:
        """Everything in a database as text, read without Gavial."""
        done = run(self.program("pg_dump"), self.server.dsn(dbname=database))
        return re.sub(r"^\\(un)?restrict .*$", "", done.stdout, flags=re.MULTILINE)


@pytest.fixture(params=[15, 18], scope="module")
def ends(request: pytest.FixtureRequest) -> Iterator[Ends]:
    found = Ends(
        request.getfixturevalue(f"postgres{request.param}"), request.getfixturevalue(f"gavial{request.param}")
    )
    with psycopg.connect(found.server.dsn(), autocommit=True) as connection:
        connection.execute("create database full_one")
        script = (SOURCES / "psql" / "rich.sql").read_text()
        dsn = found.proxy.dsn(dbname="full_one")
        run(found.program("psql"), "--no-psqlrc", "--set=ON_ERROR_STOP=1", dsn, script=script)
        yield found
        connection.execute("drop database full_one with (force)")


@pytest.fixture
def empty(ends: Ends) -> Iterator[str]:
    """The name of a database with nothing in it."""
    with psycopg.connect(ends.server.dsn(), autocommit=True) as connection:
        connection.execute("create database to_fill template template0")
        yield "to_fill"
        connection.execute("drop database to_fill with (force)")


def test_plain_dump_is_restored_by_psql(ends: Ends, empty: str, tmp_path: Path) -> None:
    dumped = tmp_path / "dump.sql"
    run(ends.program("pg_dump"), "--file", dumped, ends.proxy.dsn(dbname="full_one"))
    options = ("--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--single-transaction")
    run(ends.program("psql"), *options, "--file", dumped, ends.proxy.dsn(dbname=empty))
    assert ends.content(empty) == ends.content("full_one")


@pytest.mark.parametrize(
    ("form", "jobs"), [("custom", 1), ("tar", 1), ("directory", 2)], ids=["custom", "tar", "directory"]
)
def test_archive_is_restored(ends: Ends, empty: str, tmp_path: Path, form: str, jobs: int) -> None:
    archive = tmp_path / "archive"
    target, source = ends.proxy.dsn(dbname=empty), ends.proxy.dsn(dbname="full_one")
    run(ends.program("pg_dump"), f"--format={form}", f"--jobs={jobs}", "--file", archive, source)
    run(ends.program("pg_restore"), f"--jobs={jobs}", "--exit-on-error", "--dbname", target, archive)
    assert ends.content(empty) == ends.content("full_one")


def test_dump_of_inserts_is_restored(ends: Ends, empty: str) -> None:
    through = run(
        ends.program("pg_dump"), "--inserts", "--rows-per-insert=500", ends.proxy.dsn(dbname="full_one")
    )
    dsn = ends.proxy.dsn(dbname=empty)
    options = ("--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1")
    run(ends.program("psql"), *options, dsn, script=through.stdout)
    assert ends.content(empty) == ends.content("full_one")
