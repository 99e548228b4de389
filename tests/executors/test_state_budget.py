"""A query keeps no more bytes than it may, and nothing that it is to do without, whatever it looks up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from catalog.postgres.storage import Plain
from executors.duckdb.arrangement import KeyColumn
from executors.duckdb.arrangements import NO_BUDGET, Room
from executors.duckdb.database import open_database
from executors.executor import StateBudget
from tests.executors.test_arrangements import KEY, ROOM, Folder

OTHER = (KeyColumn("a2", Plain.TEXT, Plain.TEXT),)
BOTH = (*KEY, *OTHER)
HASHES = np.zeros(1, np.uint64)
ROWS = 100
KEYS = (KEY, OTHER, BOTH)
TABLES = tuple(f"table-{number}" for number in range(1, 11))


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    with open_database(2**28) as connection:
        folder = Folder(connection, tmp_path, Room(tmp_path, ROOM, fewest_rows=0))
        yield folder
        folder.arrangements.close()


def look_up(folder: Folder, key: tuple[KeyColumn, ...], states: StateBudget, table: str = "table-1") -> bool:
    """Whether a firing of the query finds all files of a table arranged by the key."""
    folder.arrangements.begin(states)
    rows = {path: len(rows) for path, rows in folder.files.items()}
    files = replace(folder.whole(rows), folder=str(folder.directory / table))
    return not folder.arrangements.find(folder.database, files, key, HASHES, states).rest


def size(folder: Folder, query: str = "") -> int:
    """The bytes that are kept, or those that a query pays for."""
    return sum(one.bytes for one in folder.arrangements.kept() if not query or one.queries[:1] == (query,))


def names(folder: Folder) -> set[tuple[str, ...]]:
    return {tuple(column.name for column in one.by.key) for one in folder.arrangements.kept()}


def added(folder: Folder, rows: int = ROWS) -> str:
    return folder.add([(number, "ab", 1) for number in range(rows)])


def _expected(folder: Folder) -> int:
    """The bytes that all rows are expected to take by a key."""
    look_up(folder, KEY, StateBudget("other"))
    folder.arrangements.settle()
    [one] = folder.arrangements.kept()
    folder.arrangements.allow(StateBudget("other", 0.0))
    assert size(folder) == 0
    return one.expected_bytes


def test_what_has_no_room_in_the_budget_is_scanned(folder: Folder) -> None:
    added(folder)
    one = _expected(folder)
    tight = StateBudget("q", one * 1.2)
    assert look_up(folder, KEY, tight)
    assert not look_up(folder, OTHER, tight)
    assert size(folder) <= tight.most_bytes
    [row] = [row for row in folder.arrangements.listed(str(folder.directory)) if not row.kept]
    assert row.why == NO_BUDGET
    assert look_up(folder, OTHER, StateBudget("q", one * 2.5))


def test_a_budget_of_nothing_keeps_nothing(folder: Folder) -> None:
    path = added(folder)
    nothing = StateBudget("q", 0.0)
    for _ in range(3):
        assert not look_up(folder, KEY, nothing)
    assert size(folder) == 0
    assert folder.looked_up([path], [5]) == folder.scanned([path], [5])


def test_a_budget_that_is_cut_is_kept_at_once(folder: Folder) -> None:
    added(folder)
    states = StateBudget("q")
    for key in KEYS:
        assert look_up(folder, key, states)
    whole = size(folder)
    for share in (0.7, 0.4, 0.0):
        folder.arrangements.allow(StateBudget("q", share * whole))
        assert size(folder) <= share * whole
    assert size(folder) == 0


def test_the_least_recently_used_goes_first(folder: Folder) -> None:
    added(folder)
    states = StateBudget("q")
    for key in (KEY, OTHER, KEY):
        assert look_up(folder, key, states)
    folder.arrangements.allow(StateBudget("q", 0.9 * size(folder)))
    assert names(folder) == {("a1",)}


def test_what_is_dropped_goes_and_other_states_stay(folder: Folder) -> None:
    added(folder)
    for key in (KEY, OTHER):
        assert look_up(folder, key, StateBudget("q"))
    folder.arrangements.allow(StateBudget("q", dropped=frozenset((("table-1", frozenset(("a1",))),))))
    assert names(folder) == {("a2",)}


def test_what_several_queries_keep_is_paid_once(folder: Folder) -> None:
    """The first pays; the other one keeps it for nothing, and pays when the first has given it up."""
    added(folder)
    assert look_up(folder, KEY, StateBudget("p"))
    one = size(folder)
    assert look_up(folder, KEY, StateBudget("q", 0.0))
    assert (size(folder, "p"), size(folder, "q")) == (one, 0)
    assert look_up(folder, KEY, StateBudget("r", one))
    folder.arrangements.allow(StateBudget("q", one))
    folder.arrangements.allow(StateBudget("p", 0.0))
    assert (size(folder, "p"), size(folder, "q")) == (0, one)
    folder.arrangements.allow(StateBudget("q", 0.0))
    assert size(folder, "r") == one
    folder.arrangements.allow(StateBudget("r", 0.0))
    assert size(folder) == 0


@pytest.mark.parametrize("at_once", [0, 1 << 40], ids=["beside", "at once"])
def test_a_tenth_of_what_is_wanted_is_never_exceeded(tmp_path: Path, at_once: int) -> None:
    """Two hundred random firings, among which files come and are merged, and texts are long or short."""
    random = Random(20)
    with open_database(2**28) as database:
        room = Room(tmp_path, ROOM, fewest_rows=0, at_once=at_once)
        folder = Folder(database, tmp_path, room)
        added(folder, 10 * ROWS)
        tenth = _expected(folder) * len(KEYS) * len(TABLES) / 10
        sizes = []
        for _ in range(200):
            if random.random() < 0.3:
                text = "x" * random.choice((1, 200))
                folder.add([(number, text, 1) for number in range(random.randint(1, ROWS // 2))])
            if random.random() < 0.2 and len(folder.files) > 2:
                gone = random.sample(sorted(folder.files), 2)
                rows = [row for path in gone for row in folder.files[path]]
                for path in gone:
                    folder.remove(path)
                folder.add(rows)
            states = StateBudget("q", tenth)
            look_up(folder, random.choice(KEYS), states, random.choice(TABLES))
            sizes.append(size(folder, "q"))
            folder.arrangements.settle()
            sizes.append(size(folder, "q"))
        folder.arrangements.close()
    assert max(sizes) <= tenth
    assert max(sizes) > tenth / 2
