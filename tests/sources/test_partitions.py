"""Partitions, and what they are part of, captured at the same time (G2, G11)."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.sources.test_joining import Site, site_of
from tests.support.capture.databases import (
    coordinator,
    enrol,
    one,
    state_of,
    wait_until_captured,
    wait_until_followed,
)
from tests.support.running.servers import DEADLINE_SECONDS
from tests.support.versions import versions

pytestmark = pytest.mark.service

MAKE = """
    CREATE TABLE p (id int, k int, j int, v text, PRIMARY KEY (id, k, j)) PARTITION BY LIST (k);
    CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1);
    CREATE TABLE p2 (v text, gone int, j int NOT NULL, k int NOT NULL, id int NOT NULL,
        PRIMARY KEY (id, k, j));
    ALTER TABLE p2 DROP gone;
    ALTER TABLE p ATTACH PARTITION p2 FOR VALUES IN (2);
    CREATE TABLE s PARTITION OF p FOR VALUES IN (3, 4) PARTITION BY LIST (j);
    CREATE TABLE s0 PARTITION OF s FOR VALUES IN (0);
    CREATE TABLE s1 PARTITION OF s DEFAULT;
    CREATE TABLE p9 PARTITION OF p DEFAULT;
    INSERT INTO p SELECT g, g % 6, g % 3, 'row ' || g FROM generate_series(1, 60) g;
"""
TABLES = ("p", "s", "p1", "p2", "s0", "s1", "p9")
BOUNDS = {"p1": ("p", "IN (1)"), "p2": ("p", "IN (2)"), "s": ("p", "IN (3, 4)"), "s0": ("s", "IN (0)")}
CHANGES = (
    "UPDATE p SET k = (k + {n}) % 6 WHERE id % 5 = {n}",
    "UPDATE p SET k = (k + 1) % 6, v = v || '+' WHERE j = {n} % 3",
    "UPDATE p SET j = j + 1, v = NULL WHERE id % 7 = {n}",
    "UPDATE {table} SET v = coalesce(v, '') || '{n}' WHERE id % 2 = 0",
    "UPDATE {table} SET id = -id WHERE id % 3 = {n} % 3",
    "DELETE FROM {table} WHERE abs(id) % 11 = {n}",
    "INSERT INTO p SELECT max(id) + 1, {n}, {n} % 3, 'new' FROM p HAVING max(id) IS NOT NULL",
    "INSERT INTO p SELECT 1000 + {serial} + g, g % 6, g % 2, 'more' FROM generate_series(1, 6) g",
)


@pytest.fixture(params=[f"postgres{major}" for major in versions(18)])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    with site_of(request.getfixturevalue(request.param), tmp_path) as made:
        yield made


class History:
    """Random changes of the tree of partitions, of its rows, and of what of it is captured."""

    def __init__(self, site: Site, seed: int) -> None:
        self.site = site
        self.random = random.Random(seed)
        self.captured: list[str] = []
        self.detached: set[str] = set()
        self.serial = 0
        self.log: list[str] = []
        site.user.execute(MAKE.encode())

    def step(self) -> None:
        """A transaction, or a change of the tree."""
        kind = self.random.choices(
            [self.change, self.capture, self.detach, self.attach, self.truncate, self.choose],
            [12, 2, 1, 2, 1, 2],
        )[0]
        kind()

    def change(self) -> None:
        count = self.random.randint(1, 4)
        with self.site.user.transaction():
            for _ in range(count):
                self.serial += 10
                statement = self.random.choice(CHANGES).format(
                    n=self.random.randrange(6), table=self.random.choice(TABLES), serial=self.serial
                )
                self._run(statement)

    def _execute(self, statement: bytes) -> None:
        self.log.append(statement.decode())
        self.site.user.execute(statement)

    def _run(self, statement: str) -> None:
        """What breaks a key or finds no partition is taken back by itself."""
        try:
            with self.site.user.transaction():
                self._execute(statement.encode())
        except (psycopg.errors.UniqueViolation, psycopg.errors.CheckViolation):
            pass

    def capture(self) -> None:
        left = [table for table in TABLES if table not in self.captured]
        if left:
            table = self.random.choice(left)
            self._execute(f"SELECT gavial.enrol('{table}'::regclass)".encode())
            self.captured.append(table)

    def detach(self) -> None:
        table = self.random.choice(sorted(BOUNDS))
        if table not in self.detached:
            self.detached.add(table)
            self._execute(f"ALTER TABLE {BOUNDS[table][0]} DETACH PARTITION {table}".encode())

    def attach(self) -> None:
        """Rows that do not belong there, or that the default partition has, are moved out of the way."""
        for table in sorted(self.detached):
            root, bound = BOUNDS[table]
            column = "k" if root == "p" else "j"
            other = "p9" if root == "p" else "s1"
            self.detached.remove(table)
            with self.site.user.transaction():
                if self.random.random() < 0.4:
                    self._execute(f"DELETE FROM {table}".encode())
                self._execute(f"DELETE FROM {other} WHERE {column} {bound}".encode())
                self._execute(f"ALTER TABLE {root} ATTACH PARTITION {table} FOR VALUES {bound}".encode())

    def truncate(self) -> None:
        table = self.random.choice(TABLES)
        with self.site.user.transaction():
            self._execute(f"TRUNCATE {table}".encode())
            self._run(
                f"INSERT INTO p SELECT -{self.serial} - g, g % 6, 0, 'after' FROM generate_series(1, 6) g"
            )
        self.serial += 10

    def choose(self) -> None:
        """How old rows are known."""
        if self.captured:
            table, how = self.random.choice(self.captured), self.random.choice(["key", "full", "auto"])
            try:
                self._execute(f"SELECT gavial.set_old_row('{table}', '{how}')".encode())
            except psycopg.errors.ObjectNotInPrerequisiteState:
                assert how == "key", "only a table whose partitions have other keys tells none"

    def check(self) -> None:
        """Everything that is captured is what PostgreSQL has, and stays so."""
        if not self.captured:
            return
        wait_until_followed(self.site.user)
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not self.is_right():
            assert time.monotonic() < deadline, (self.wrong(), self.log)
            time.sleep(0.02)

    def is_right(self) -> bool:
        return (
            all(state_of(self.site.user, table) == "captured" for table in self.captured) and not self.wrong()
        )

    def wrong(self) -> list[str]:
        return [table for table in self.captured if self.site.mirror(table) != self.site.rows(table)]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_random_history_of_partitions(site: Site, tmp_path: Path, seed: int) -> None:
    history = History(site, seed)
    for part in range(3):
        with coordinator(site.dsn, site.home, tmp_path / "log"):
            for _ in range(8):
                for _ in range(history.random.randint(1, 4)):
                    history.step()
                history.check()
        # What is changed meanwhile comes when it is started again.
        for _ in range(history.random.randint(1, 3)):
            history.step()
        assert part < 3


def test_a_partition_and_its_root(site: Site, tmp_path: Path) -> None:
    user = site.user
    user.execute(MAKE.encode())
    enrol(user, ["p1", "s"])
    with coordinator(site.dsn, site.home, tmp_path / "log"):
        wait_until_captured(user, ["p1", "s"])
        enrol(user, ["p", "s0", "p2"])
        wait_until_captured(user, ["p", "s0", "p2"])
        user.execute("UPDATE p SET v = v || '!'; UPDATE p SET k = (k + 1) % 5, j = j % 2")
        site.check("p", "p1", "s", "s0", "p2")
        user.execute("INSERT INTO s1 VALUES (99, 3, 7, 'by name'); DELETE FROM p1 WHERE id % 2 = 0")
        site.check("p", "p1", "s", "s0", "p2")


def test_replica_identities_are_given_back_with_the_last_that_needs_them(site: Site) -> None:
    user = site.user
    user.execute(MAKE.encode())
    whole = "SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class WHERE relreplident = 'f' "
    whole += "AND relnamespace = 'public'::regnamespace AND relkind = 'r'"
    enrol(user, ["p", "p1"])
    assert one(user, whole) == "p1 p2 p9 s0 s1"
    user.execute(
        "ALTER PUBLICATION gavial DROP TABLE p; DELETE FROM gavial.sources WHERE relation = 'p'::regclass"
    )
    user.execute("SELECT gavial.give_back('p'::regclass)")
    assert one(user, whole) == "p1"
    user.execute("ALTER TABLE p DETACH PARTITION p1; SELECT gavial.dismiss()")
    assert one(user, whole) is None
    assert one(user, "SELECT count(*) FROM gavial.identities") == 0
