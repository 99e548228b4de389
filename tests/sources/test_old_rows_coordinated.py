"""Tables whose owner wants old rows looked up: made, lost, refused, given back (G9, G11)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from catalog.failpoints import VARIABLE
from tests.sources.test_joining import Site, fill, site_of
from tests.support.capture.databases import coordinator, enrol, one, wait_until_captured
from tests.support.running.servers import wait_until
from tests.support.running.standing_databases import refused
from tests.support.versions import versions

pytestmark = pytest.mark.service
NUMBERS = itertools.count()
BY = "SELECT old_row_by FROM gavial.sources WHERE relation = to_regclass(%s)"
IDENTITIES = (
    "SELECT string_agg(DISTINCT relreplident::text, '') FROM pg_class "
    "WHERE relname ~ '^t.?$' AND relkind IN ('r', 'p')"
)


@pytest.fixture(params=[f"postgres{major}" for major in versions(15)])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    with site_of(request.getfixturevalue(request.param), tmp_path) as made:
        yield made


def want_key(site: Site, table: str = "t") -> None:
    site.user.execute("SELECT gavial.set_old_row(%s, 'key')", (table,))


def wait_until_by(site: Site, how: str, table: str = "t") -> None:
    wait_until(lambda: one(site.user, BY, table) == how, f"old rows are not known by {how}")


@pytest.mark.parametrize("site", ["postgres18"], indirect=True)
@pytest.mark.parametrize("point", ["position taken", "copied", "complete"])
def test_a_mirror_whose_making_is_killed_is_made_again(site: Site, tmp_path: Path, point: str) -> None:
    fill(site.user, "t")
    enrol(site.user, ["t"])
    want_key(site)
    with coordinator(site.dsn, site.home, tmp_path / "log", {VARIABLE: f"fill {point}:1:kill"}) as first:
        first.wait_until_killed()
    site.user.execute("UPDATE t SET b = 'later' WHERE a % 2 = 0; DELETE FROM t WHERE a % 3 = 0")
    with coordinator(site.dsn, site.home, tmp_path / "log"):
        wait_until_by(site, "key")
        site.user.execute("UPDATE t SET b = b || '!', a = -a WHERE a % 4 = 0; DELETE FROM t WHERE a % 5 = 0")
        site.check("t")
        assert one(site.user, IDENTITIES) == "d"


def test_partitions(site: Site, tmp_path: Path) -> None:
    """Rows move, partitions come with rows of theirs, and at last one that has another key."""
    user = site.user
    user.execute("CREATE TABLE t (a int, b text, c int, PRIMARY KEY (c, a)) PARTITION BY RANGE (a)")
    user.execute("CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (100)")
    user.execute("CREATE TABLE t2 (c int NOT NULL, dropped int, a int NOT NULL, b text, PRIMARY KEY (c, a))")
    user.execute("ALTER TABLE t2 DROP dropped")
    user.execute("ALTER TABLE t ATTACH PARTITION t2 FOR VALUES FROM (100) TO (200)")
    user.execute("INSERT INTO t SELECT i, 'row', i % 7 FROM generate_series(0, 199) i")
    enrol(user, ["t"])
    with coordinator(site.dsn, site.home, tmp_path / "log"):
        wait_until_captured(user, ["t"])
        assert one(user, IDENTITIES) == "f"
        want_key(site)
        wait_until_by(site, "key")
        assert one(user, IDENTITIES) == "d"
        user.execute("UPDATE t SET b = b || a WHERE a % 3 = 0; DELETE FROM t WHERE a % 11 = 0")
        user.execute("UPDATE t SET a = 199 - a, c = 9 WHERE c = 5 AND a < 40")
        user.execute("INSERT INTO t VALUES (5, 'new', 1); UPDATE t SET a = 190, c = 8 WHERE a = 3")
        site.check("t")
        user.execute("CREATE TABLE t3 PARTITION OF t FOR VALUES FROM (200) TO (300)")
        user.execute("UPDATE t SET a = a + 100 WHERE a BETWEEN 150 AND 160")
        assert one(user, BY, "t") == "key"
        site.check("t")
        user.execute("CREATE TABLE t4 (LIKE t INCLUDING ALL)")
        user.execute("INSERT INTO t4 VALUES (300, 'brought', 1); ALTER TABLE t4 REPLICA IDENTITY NOTHING")
        user.execute("ALTER TABLE t ATTACH PARTITION t4 FOR VALUES FROM (300) TO (400)")
        assert (one(user, BY, "t"), one(user, IDENTITIES)) == ("full", "f")
        user.execute("UPDATE t SET b = b || '?'")
        wait_until_captured(user, ["t"])
        site.check("t")


@pytest.mark.parametrize("table", ["t", "t1"])
def test_partitions_of_partitions(site: Site, tmp_path: Path, table: str) -> None:
    """Both the root and a partition that has partitions itself have a key."""
    user = site.user
    user.execute("CREATE TABLE t (a int, b text, c int, PRIMARY KEY (a, c)) PARTITION BY RANGE (a)")
    user.execute("CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (100) PARTITION BY LIST (c)")
    for number in range(3):
        user.execute(f"CREATE TABLE t{number + 2} PARTITION OF t1 FOR VALUES IN ({number})".encode())
    user.execute("CREATE TABLE t9 PARTITION OF t FOR VALUES FROM (100) TO (200)")
    user.execute("INSERT INTO t SELECT i, 'row', i % 3 FROM generate_series(0, 199) i")
    enrol(user, [table])
    with coordinator(site.dsn, site.home, tmp_path / "log"):
        wait_until_captured(user, [table])
        want_key(site, table)
        wait_until_by(site, "key", table)
        assert one(user, IDENTITIES) == "d"
        user.execute("UPDATE t SET b = b || a WHERE a % 5 = 0; DELETE FROM t WHERE a % 11 = 0")
        user.execute("UPDATE t SET c = (c + 1) % 3 WHERE a % 4 = 0")
        user.execute("UPDATE t SET a = a + 100, c = 9 WHERE a BETWEEN 50 AND 60")
        user.execute("UPDATE t SET a = a - 100, c = 1 WHERE c = 9 AND a < 155")
        site.check(table)


@pytest.mark.parametrize("site", ["postgres15"], indirect=True)
def test_a_mirror_that_is_lost(site: Site, tmp_path: Path) -> None:
    """Its table is copied again, and then its rows are looked up again."""
    fill(site.user, "t")
    enrol(site.user, ["t"])
    log = tmp_path / "log"
    with coordinator(site.dsn, site.home, log):
        want_key(site)
        wait_until_by(site, "key")
        since = one(site.user, "SELECT captured_from FROM gavial.sources")
    name = one(site.user, "SELECT old_rows FROM gavial.sources")
    [found] = site.home.rglob(name)
    found.write_bytes(b"no rows in here")
    with coordinator(site.dsn, site.home, log):
        site.user.execute("UPDATE t SET b = 'later' WHERE a % 2 = 0; DELETE FROM t WHERE a % 3 = 0")
        again = "SELECT state = 'captured' AND captured_from > %s FROM gavial.sources"
        wait_until(lambda: bool(one(site.user, again, since)), "nothing is copied again")
        wait_until_by(site, "key")
        site.user.execute("UPDATE t SET b = b || '!'")
        site.check("t")


def test_its_owner_chooses(site: Site, tmp_path: Path) -> None:
    fill(site.user, "t")
    site.user.execute("CREATE TABLE keyless (a int); CREATE TABLE late (a int PRIMARY KEY DEFERRABLE)")
    enrol(site.user, ["t", "keyless", "late"])
    for statement, said in (
        ("SELECT gavial.set_old_row('t', 'hearsay')", "'hearsay' is no way to know old rows"),
        ("SELECT gavial.set_old_row('keyless', 'key')", "table public.keyless tells no key"),
        ("SELECT gavial.set_old_row('late', 'key')", "table public.late tells no key"),
        ("SELECT gavial.set_old_row('pg_class', 'full')", "table pg_class is not captured"),
    ):
        assert said in str(refused(site.user, statement).message)
    role = f"owner_{next(NUMBERS)}"
    site.user.execute(f"CREATE ROLE {role}; SET ROLE {role}".encode())
    assert (
        refused(site.user, "SELECT gavial.set_old_row('t', 'key')").message
        == "must be owner of table public.t"
    )
    site.user.execute(f"RESET ROLE; ALTER TABLE t OWNER TO {role}".encode())
    with coordinator(site.dsn, site.home, tmp_path / "log"):
        site.user.execute(f"SET ROLE {role}".encode())
        want_key(site)
        site.user.execute("RESET ROLE")
        wait_until_by(site, "key")
        site.user.execute(f"SET ROLE {role}; SELECT gavial.set_old_row('t', 'full'); RESET ROLE".encode())
        site.user.execute(f"REASSIGN OWNED BY {role} TO postgres; DROP ROLE {role}".encode())
        assert (one(site.user, BY, "t"), one(site.user, IDENTITIES)) == ("full", "f")
        site.user.execute("UPDATE t SET b = 'told'")
        want_key(site)
        wait_until_by(site, "key")
        site.user.execute("UPDATE t SET b = b || a")
        site.check("t")
        site.user.execute("SELECT gavial.dismiss()")
        assert one(site.user, IDENTITIES) == "d"
        wait_until(lambda: not list(site.home.rglob("mirrors/*")), "a mirror stays that nobody needs")
