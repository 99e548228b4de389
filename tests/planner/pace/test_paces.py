"""Paths at paces of their own against the definition: whatever is worked early, the answer is right."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.postgres.schema import TableName
from coordinator.decide.pacing import Paced, due, rows_of, tables_below
from executors.reference.evaluate import evaluate
from executors.reference.firing import Changes
from executors.reference.values.values import Bag
from planner.algebra.logical import LogicalQuery
from planner.delta.derive import derive
from planner.delta.methods import Method
from planner.delta.weighted import NodeBuffer, TableBuffer
from planner.pace.paths import Path
from tests.planner.test_delta import METHODS, apply
from tests.support.planning.random_plans import TABLES, commits, queries
from tests.support.planning.replay import Replay

ONE = Path(9, 1)
ORDERS, LINES = 501, 502


class Period:
    """A replay that works paths early, as their paces say."""

    def __init__(self, replay: Replay, paces: dict[Path, int], expected: dict[int, float]) -> None:
        self.replay = replay
        self.expected = expected
        self.oids = {name: number for number, name in enumerate(TABLES)}
        read = [buffer for buffer in replay.plan.buffers if isinstance(buffer, TableBuffer)]
        self.tables = {buffer.number: self.oids[buffer.table] for buffer in read}
        below = tables_below(replay.plan, self.tables)
        self.paced = [Paced(path, paces[path], below[path]) for path in below]
        self.arrived: Counter[int] = Counter()

    def commit(self, changes: dict[TableName, Changes]) -> None:
        """What came, and what is due then."""
        self.replay.commit(changes)
        self.arrived.update({self.oids[name]: len(rows) for name, rows in changes.items()})
        self.work(set(due(self.paced, self.arrived, self.expected)))

    def work(self, paths: set[Path]) -> None:
        """Fire subplans as a round does: by the paths that are due, a table's buffers as one."""
        for subplan in self.replay.plan.subplans:
            chosen = {path.reads for path in paths if path.writes == subplan.writes}
            tables = {self.tables[buffer] for buffer in chosen if buffer in self.tables}
            chosen |= {read for read in subplan.reads if self.tables.get(read) in tables}
            kept = {
                read: self.replay.read[subplan.writes, read] for read in subplan.reads if read not in chosen
            }
            if chosen:
                self.replay.fire(subplan, kept)
        self.paced = [
            replace(paced, rows_at_last_run=rows_of(paced.tables, self.arrived))
            if paced.path in paths
            else paced
            for paced in self.paced
        ]

    def end(self) -> None:
        """The trigger fires."""
        self.replay.fire_all()
        self.arrived.clear()
        self.paced = [replace(paced, rows_at_last_run=0) for paced in self.paced]


@settings(max_examples=400)
@given(
    query=queries(),
    periods=st.lists(commits(), min_size=1, max_size=3),
    methods=st.sampled_from(METHODS),
    store_joins=st.booleans(),
    specialised=st.booleans(),
    data=st.data(),
)
def test_the_answer_is_right_at_every_trigger(
    query: LogicalQuery,
    periods: list[list[dict[TableName, Changes]]],
    methods: tuple[Method, ...],
    store_joins: bool,
    specialised: bool,
    data: st.DataObject,
) -> None:
    """Contents in between are those of some position of each table, so no node's is ever negative."""
    replay = Replay(derive(query, methods, TABLES, store_joins), specialised=specialised)
    paths = [Path(subplan.writes, buffer) for subplan in replay.plan.subplans for buffer in subplan.reads]
    paces = {path: data.draw(st.integers(1, 8)) for path in paths}
    expected = {number: float(data.draw(st.integers(0, 12))) for number in range(len(TABLES))}
    contents: dict[TableName, Bag] = {name: Counter() for name in TABLES}
    replay.fire_all()
    period = Period(replay, paces, expected)
    for changes in periods:
        for commit in changes:
            apply(contents, commit)
            period.commit(commit)
            for buffer in replay.plan.buffers:
                if isinstance(buffer, NodeBuffer):
                    assert all(weight > 0 for _, weight in replay.content(buffer.number))
        period.end()
        assert Counter(dict(replay.answer)) == evaluate(query, contents)


@pytest.mark.parametrize(
    ("pace", "rows_at_last_run", "arrived", "expected", "is_due"),
    [
        (4, 0, 24, 100, False),
        (4, 0, 25, 100, True),
        (4, 25, 49, 100, False),
        (4, 25, 50, 100, True),
        # A burst is one firing; after it the next mark counts.
        (4, 0, 60, 100, True),
        (4, 60, 74, 100, False),
        (4, 60, 75, 100, True),
        # The last mark is the trigger's.
        (4, 75, 100, 100, False),
        (4, 75, 120, 100, False),
        # What was expected has come and a quarter more: twice as much is expected.
        (4, 75, 126, 100, True),
        (4, 126, 140, 100, False),
        # A drought, nothing expected, nothing early.
        (4, 0, 0, 100, False),
        (4, 0, 50, 0, False),
        (1, 0, 99, 100, False),
        (1, 0, 1000, 100, False),
    ],
)
def test_marks(pace: int, rows_at_last_run: int, arrived: int, expected: float, is_due: bool) -> None:
    paced = Paced(ONE, pace, frozenset({ORDERS, LINES}), rows_at_last_run)
    found = due(
        [paced], {ORDERS: arrived // 2, LINES: arrived - arrived // 2, 7: 1000}, {ORDERS: expected, 7: 9.0}
    )
    assert found == ((ONE,) if is_due else ())


def test_a_pace_is_so_many_firings_however_rows_come() -> None:
    paced = Paced(ONE, 10, frozenset({ORDERS}))
    firings = 0
    for arrived in range(0, 1000, 7):
        if due([paced], {ORDERS: arrived}, {ORDERS: 1000.0}):
            firings += 1
            paced = replace(paced, rows_at_last_run=arrived)
    assert firings == 9
