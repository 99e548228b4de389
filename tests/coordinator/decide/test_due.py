"""Which results are due, and with which others they are published."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from catalog.queries.running import Run, Running
from coordinator.decide.due import Situation, due_moment, groups

NOW = datetime(2025, 3, 1, 6, 0, 1, tzinfo=UTC)
SITUATION = Situation(NOW, 100, {})


def query(number: int, **changes: object) -> Running:
    """One with a result, whose trigger has not fired since."""
    standing = Running(
        id=UUID(int=number),
        view=number,
        result=number,
        text="",
        options={},
        settings={"TimeZone": "UTC"},
        status="active",
        sqlstate=None,
        detail=None,
        position=50,
        fired=NOW - timedelta(hours=1),
        captured=True,
        unlogged=False,
        schema="public",
        name=f"q{number}",
        owner="me",
    )
    return replace(standing, **changes)  # type: ignore[arg-type]


def run(number: int, of: int, statement: str, target: int = 90) -> Run:
    return Run(UUID(int=number), UUID(int=of), "refresh", target, statement)


def due(queries: list[Running], runs: list[Run], situation: Situation = SITUATION) -> list[set[int]]:
    """The groups, by the numbers of their queries."""
    return [{member.query.id.int for member in group} for group in groups(queries, runs, situation)]


def test_each_is_published_by_itself() -> None:
    at_six = {"TRIGGER": "at 06:00"}
    queries = [query(1, options=at_six), query(2, options=at_six), query(3)]
    assert due(queries, []) == [{1}, {2}]
    assert due(queries, [run(1, 3, "x")]) == [{1}, {2}, {3}]


def test_what_one_statement_names_is_published_together() -> None:
    queries = [query(number) for number in range(1, 5)]
    assert due(queries, [run(1, 1, "x"), run(2, 2, "x"), run(3, 3, "y")]) == [{1, 2}, {3}]
    assert due(queries, [run(1, 1, "x"), run(2, 2, "x"), run(3, 2, "y"), run(4, 4, "y")]) == [{1, 2, 4}]


def test_a_statement_waits_until_all_that_it_names_can_be_computed() -> None:
    queries = [query(1), query(2)]
    assert due(queries, [run(1, 1, "x"), run(2, 2, "x", target=101)]) == []
    assert due([query(1), query(2, captured=False)], [run(1, 1, "x"), run(2, 2, "x")]) == []
    resting = replace(SITUATION, resting={UUID(int=2)})
    assert due(queries, [run(1, 1, "x"), run(2, 2, "x")], resting) == []
    assert due(queries, [run(1, 1, "x"), run(2, 2, "y")], resting) == [{1}]


def test_a_query_in_error_that_rests_holds_up_no_other_of_its_statement() -> None:
    failed = [query(number, status="error", sqlstate="22012") for number in (2, 3)]
    runs = [run(number, number, "x") for number in (1, 2, 3)]
    resting = replace(SITUATION, resting={UUID(int=2)}, seen_at={UUID(int=3): 100})
    [group] = groups([query(1), *failed], runs, resting)
    assert [(member.query.id.int, member.refreshes) for member in group] == [(1, (runs[0],)), (3, (runs[2],))]


def test_of_a_publish_group_all_are_due_when_one_is() -> None:
    group, at_six = {"PUBLISH_GROUP": "daily"}, {"PUBLISH_GROUP": "daily", "TRIGGER": "at 06:00"}
    queries = [query(1, options=at_six), query(2, options=group), query(3, options=group, owner="you")]
    assert due(queries, []) == [{1, 2}]
    assert due(queries, [run(1, 3, "x")]) == [{1, 2}, {3}]
    assert due(queries, [run(1, 3, "x"), run(2, 2, "x")]) == [{1, 2, 3}]


def test_a_query_in_error_does_not_make_its_publish_group_due() -> None:
    group = {"PUBLISH_GROUP": "daily"}
    queries = [query(1, options=group), query(2, options=group, status="error", sqlstate="22012")]
    assert due(queries, []) == [{2}]
    assert due(queries, [run(1, 1, "x")]) == [{1, 2}]
    assert due(queries, [run(1, 2, "x")]) == [{1, 2}]


def test_a_first_result_keeps_nobody_waiting() -> None:
    group = {"PUBLISH_GROUP": "daily"}
    queries = [query(1, options=group), query(2, options=group, status="initialising", position=None)]
    assert due(queries, []) == [{2}]
    assert due(queries, [run(1, 1, "x"), run(2, 2, "x")]) == [{1}, {2}]


def test_an_error_is_mended_by_new_changes_or_tried_when_somebody_asks() -> None:
    failed = query(1, status="error", sqlstate="22012", options={"TRIGGER": "at 06:00"})
    seen = replace(SITUATION, seen_at={failed.id: 90}, changed_at={failed.id: 90})
    assert due([failed], [], seen) == [], "what others changed meanwhile does not mend it"
    assert due([failed], [run(1, 1, "x")], seen) == [{1}]
    assert due([failed], [], replace(seen, changed_at={failed.id: 91})) == [{1}]
    assert due([failed], [], replace(seen, seen_at={})) == [{1}], "it is not known in which data it was"


def test_rows_fire_a_trigger() -> None:
    counting = query(1, options={"TRIGGER": "every 10 rows or at 23:00"})
    assert due([counting], []) == []
    assert due([counting], [], replace(SITUATION, rows_waiting={counting.id: 10})) == [{1}]


def test_a_result_that_a_crash_emptied_is_made_again() -> None:
    assert due([query(1)], [], replace(SITUATION, emptied={UUID(int=1)})) == [{1}]


@given(
    st.lists(st.tuples(st.integers(1, 8), st.sampled_from("uvwxyz")), max_size=12),
    st.lists(st.sampled_from((None, "g", "h")), min_size=8, max_size=8),
)
def test_groups_are_disjoint_and_no_statement_is_split(
    asked: list[tuple[int, str]], named: list[str | None]
) -> None:
    queries = [
        query(number, options={} if group is None else {"PUBLISH_GROUP": group})
        for number, group in enumerate(named, 1)
    ]
    runs = [run(number, of, statement) for number, (of, statement) in enumerate(asked, 1)]
    found = due(queries, runs)
    assert sum(map(len, found)) == len(set().union(*found))
    for statement in {run.statement for run in runs}:
        members = {run.query.int for run in runs if run.statement == statement}
        assert any(members <= group for group in found)


def test_when_a_query_is_due() -> None:
    hourly = query(1, options={"TRIGGER": "every 3600 s"}, fired=NOW - timedelta(minutes=5))
    assert due_moment(hourly, SITUATION) == NOW + timedelta(minutes=55)
    late = replace(hourly, fired=NOW - timedelta(hours=3))
    assert due_moment(late, SITUATION) == NOW - timedelta(hours=2)
    assert due_moment(query(1), SITUATION) is None
    counting = query(1, options={"TRIGGER": "every 10 rows"})
    enough = replace(SITUATION, rows_waiting={counting.id: 10})
    assert due_moment(counting, SITUATION) is None
    assert due_moment(counting, enough) == NOW
    noticed = replace(counting, due=NOW - timedelta(minutes=1))
    assert due_moment(noticed, enough) == NOW - timedelta(minutes=1)


def test_what_is_due_without_a_statement_is_known() -> None:
    """A firing that serves a trigger, or a first result, goes on when the statement has ended."""
    grouped: dict[str, object] = {"options": {"TRIGGER": "at 06:00", "PUBLISH_GROUP": "g"}}
    queries = [
        query(1),
        query(2, **grouped),
        query(3, options={"PUBLISH_GROUP": "g"}),
        query(4, status="initialising", position=None),
    ]
    runs = [run(number, number, str(number)) for number in range(1, 5)]
    found = {due.query.id.int: due.unasked for group in groups(queries, runs, SITUATION) for due in group}
    assert found == {1: False, 2: True, 3: False, 4: True}
