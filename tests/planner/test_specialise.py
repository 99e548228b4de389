"""A firing without what is known to be empty, and with its choices made, writes the same."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.postgres.schema import TableName
from catalog.postgres.types import BOOLEAN
from executors.reference.firing import Changes, consolidated
from planner.algebra.columns import Numbers, refer
from planner.algebra.logical import Join, JoinKind, LogicalQuery, Output, Scan, fields
from planner.delta.check import check_subplan
from planner.delta.derive import derive
from planner.delta.methods import METHODS, Method
from planner.delta.weighted import Choose, Guard, Moment, Read, Subplan
from planner.delta.weighted_tree import within
from planner.firing.specialise import Facts, specialise
from tests.support.planning.random_plans import TABLES, call, columns_of, commits, queries
from tests.support.planning.replay import Replay


@settings(max_examples=120)
@given(
    query=queries(),
    changes=commits(),
    methods=st.sampled_from((METHODS, METHODS[1:], METHODS[2:])),
    store_joins=st.booleans(),
)
def test_a_specialised_firing_writes_the_same(
    query: LogicalQuery,
    changes: list[dict[TableName, Changes]],
    methods: tuple[Method, ...],
    store_joins: bool,
) -> None:
    plan = derive(query, methods, TABLES, store_joins)
    general, special = Replay(plan), Replay(plan)
    for commit in [{}, *changes, {}]:
        general.commit(commit)
        special.commit(commit)
        for subplan in plan.subplans:
            specialised = specialise(subplan, facts_of(special, subplan))
            check_subplan(specialised)
            nodes = (node for step in specialised.steps for node in within(step.outcome))
            assert not any(isinstance(node, Choose) for node in nodes)
            written = special.fire(specialised)
            assert Counter(dict(consolidated(written))) == Counter(dict(consolidated(general.fire(subplan))))


def test_a_join_reads_only_what_meets_a_change() -> None:
    query = join(JoinKind.LEFT)
    subplan = derive(query).subplans[-1]
    left, right = subplan.reads

    def reads(**known: int) -> set[tuple[int, Moment]]:
        facts = Facts(lambda _: False, **{name: frozenset({buffer}) for name, buffer in known.items()})
        specialised = specialise(subplan, facts)
        check_subplan(specialised)
        steps = specialised.steps
        found = (node for step in steps for node in within(step.outcome) if isinstance(node, Read))
        return {(node.buffer, node.moment) for node in found}

    change, before, after = Moment.CHANGE, Moment.BEFORE, Moment.AFTER
    assert reads() == {(left, change), (left, after), (right, change), (right, before)}
    assert reads(unchanged=right) == {(left, change), (right, before)}
    assert reads(unchanged=left) == {(left, before), (right, change), (right, before)}
    assert reads(unwritten=left) == {(left, change), (right, change), (right, before)}
    assert reads(unchanged=right, unwritten=left) == {(left, change), (right, before)}


def join(kind: JoinKind) -> LogicalQuery:
    """The two tables of integers, by their first columns."""
    numbers = Numbers()
    left, right = (
        Scan(table.name, table.name.name, columns_of(table, numbers)) for table in list(TABLES.values())[:2]
    )
    equal = call(65, "=", BOOLEAN, refer(fields(left)[0]), refer(fields(right)[0]))
    plan = Join(kind, left, right, equal)
    return LogicalQuery(plan, tuple(Output(field.name, field.column) for field in fields(plan)))


def facts_of(replay: Replay, subplan: Subplan) -> Facts:
    """What the batches of the next firing tell, as its executor would."""
    own = len(replay.logs[subplan.writes].batches)
    start = {read: replay.read[subplan.writes, read] for read in subplan.reads} | {subplan.writes: own}
    changes = {
        buffer: replay.logs[buffer].between(start[buffer], len(replay.logs[buffer].batches))
        for buffer in start
    }

    def holds(guard: Guard) -> bool:
        appended = all(weight > 0 for buffer in guard.appended for _, weight in changes[buffer])
        return appended and len({start[buffer] for pair in guard.level for buffer in pair}) <= 1

    return Facts(
        holds,
        frozenset(buffer for buffer, rows in changes.items() if not rows),
        frozenset(buffer for buffer in start if not replay.logs[buffer].between(0, start[buffer])),
    )
