"""New parents are not looked for among old children, and only where none can be there."""

from __future__ import annotations

from collections import Counter
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.postgres.schema import Column, ForeignKey, Table, TableName, Tables
from catalog.postgres.types import BOOLEAN
from executors.reference.evaluate import evaluate
from executors.reference.firing import Changes
from executors.reference.values.values import Bag
from planner.algebra.columns import Numbers, refer
from planner.algebra.logical import Join, JoinKind, LogicalQuery, Output, Plan, Scan, fields
from planner.delta.derive import derive
from planner.delta.weighted import Choose, Guard, Moment, Read
from planner.delta.weighted_tree import within
from planner.firing.specialise import Facts, specialise
from tests.support.planning.random_plans import INTEGER, call, columns_of
from tests.support.planning.replay import Replay

PARENT: Final = Table(
    TableName("public", "parent"),
    (Column("key", INTEGER, nullable=False, attribute=1), Column("x", INTEGER, attribute=2)),
    keys=(("key",),),
)
CHILD: Final = Table(
    TableName("public", "child"),
    (Column("parent", INTEGER, attribute=1), Column("y", INTEGER, attribute=2)),
    foreign_keys=(ForeignKey(("parent",), PARENT.name, ("key",)),),
)
OTHER: Final = Table(TableName("public", "other"), (Column("z", INTEGER, attribute=1),))
TABLES: Final[Tables] = {table.name: table for table in (PARENT, CHILD, OTHER)}


def joined(kind: JoinKind, *, parent_first: bool) -> LogicalQuery:
    """Parent and child along the key."""
    numbers = Numbers()
    parent, child = (
        Scan(table.name, table.name.name, columns_of(table, numbers)) for table in (PARENT, CHILD)
    )
    equal = call(65, "=", BOOLEAN, refer(fields(parent)[0]), refer(fields(child)[0]))
    return every_column(
        Join(kind, parent, child, equal) if parent_first else Join(kind, child, parent, equal)
    )


def joined_with_another() -> LogicalQuery:
    """The child with another table, and then with its parent."""
    numbers = Numbers()
    parent, child, other = (
        Scan(table.name, table.name.name, columns_of(table, numbers)) for table in TABLES.values()
    )
    key, _ = fields(parent)
    refers, y = fields(child)
    [z] = fields(other)
    children = Join(JoinKind.INNER, child, other, call(65, "=", BOOLEAN, refer(y), refer(z)))
    return every_column(
        Join(JoinKind.INNER, children, parent, call(65, "=", BOOLEAN, refer(key), refer(refers)))
    )


def every_column(plan: Plan) -> LogicalQuery:
    """The plan's rows as they are."""
    return LogicalQuery(plan, tuple(Output(field.name, field.column) for field in fields(plan)))


@st.composite
def histories(draw: st.DrawFn) -> list[dict[TableName, Bag]]:
    """The tables after each commit: keys are unique and every child has its parent; many only grow."""
    history: list[dict[TableName, Bag]] = []
    parents: dict[int, int] = {}
    children: Bag = Counter()
    for _ in range(draw(st.integers(1, 5))):
        grows = draw(st.booleans())
        come = draw(st.dictionaries(st.integers(0, 3), st.integers(0, 1)))
        parents = come | parents if grows else come
        refers = st.sampled_from([None, *sorted(parents)])
        more = draw(st.lists(st.tuples(refers, st.integers(0, 1)), max_size=4))
        old = children.elements() if grows or draw(st.booleans()) else ()
        children = Counter(row for row in (*old, *more) if row[0] is None or row[0] in parents)
        others: Bag = Counter((value,) for value in draw(st.lists(st.integers(0, 1), max_size=2)))
        history.append({PARENT.name: Counter(parents.items()), CHILD.name: children, OTHER.name: others})
    return history


def difference(old: Bag, new: Bag) -> Changes:
    """What makes the new rows of the old."""
    return [(row, 1) for row in (new - old).elements()] + [(row, -1) for row in (old - new).elements()]


QUERIES: Final = [
    *(joined(kind, parent_first=parent_first) for kind in JoinKind for parent_first in (True, False)),
    joined_with_another(),
]


@pytest.mark.parametrize("query", QUERIES)
@settings(max_examples=60)
@given(history=histories(), data=st.data())
def test_the_answer_is_the_join(
    query: LogicalQuery, history: list[dict[TableName, Bag]], data: st.DataObject
) -> None:
    replay = Replay(derive(query, tables=TABLES, store_joins=False))
    tables: dict[TableName, Bag] = {name: Counter() for name in TABLES}
    [subplan] = replay.plan.subplans
    for state in history:
        replay.commit({name: difference(tables[name], state[name]) for name in TABLES})
        tables = state
        for _ in range(data.draw(st.integers(0, 2))):
            read = {buffer: replay.read[subplan.writes, buffer] for buffer in subplan.reads}
            ends = {buffer: len(replay.logs[buffer].batches) for buffer in subplan.reads}
            replay.fire(
                subplan, {buffer: data.draw(st.integers(read[buffer], ends[buffer])) for buffer in read}
            )
    replay.fire_all()
    assert Counter(dict(replay.answer)) == evaluate(query, tables)


@pytest.mark.parametrize(
    ("kind", "parent_first"),
    [
        (JoinKind.INNER, True),
        (JoinKind.INNER, False),
        (JoinKind.LEFT, False),
        (JoinKind.RIGHT, True),
        (JoinKind.SEMI, False),
        (JoinKind.ANTI, False),
    ],
)
def test_new_parents_are_not_looked_for(kind: JoinKind, parent_first: bool) -> None:
    plan = derive(joined(kind, parent_first=parent_first), tables=TABLES)
    parent, child = (0, 1) if parent_first else (1, 0)
    asked: list[Guard] = []

    def holds(guard: Guard) -> bool:
        asked.append(guard)
        return True

    steps = specialise(plan.subplans[-1], Facts(holds)).steps
    reads = {node for step in steps for node in within(step.outcome) if isinstance(node, Read)}
    assert asked == [Guard((parent,), ((parent, child),))]
    assert {read.moment for read in reads if read.buffer == child} == {Moment.CHANGE}


def test_a_foreign_key_is_seen_through_a_join() -> None:
    [subplan] = derive(joined_with_another(), tables=TABLES, store_joins=False).subplans
    nodes = [node for step in subplan.steps for node in within(step.outcome)]
    assert [node.guard for node in nodes if isinstance(node, Choose)] == [Guard((2,), ((2, 0),))]


def test_a_key_that_is_not_joined_in_full_proves_nothing() -> None:
    numbers = Numbers()
    parent, child = (
        Scan(table.name, table.name.name, columns_of(table, numbers)) for table in (PARENT, CHILD)
    )
    other = call(65, "=", BOOLEAN, refer(fields(parent)[1]), refer(fields(child)[0]))
    query = LogicalQuery(Join(JoinKind.INNER, parent, child, other), (Output("key", 1),))
    assert derive(query, tables=TABLES) == derive(query)
