"""What the coordinator decides, step by step: order, pauses, early runs, and what is discarded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from catalog.queries.running import Failure, Run
from coordinator.decide.actions import (
    Action,
    CheckDrift,
    ChoosePaces,
    Compute,
    Discard,
    Publish,
    ReadPaths,
    ReadPeriods,
    ReadSizes,
    RunEarly,
    Wait,
    Work,
)
from coordinator.decide.decide import State, carry_out, decide
from tests.support.deciding.model_database import ModelDatabase, ModelQuery, ModelRun, standing
from tests.support.deciding.model_shell import PATH, ModelShell


@dataclass
class Coordinator:
    """One that is looked at step by step."""

    shell: ModelShell
    state: State = field(default_factory=State)

    def look(self) -> list[Action]:
        """What is decided besides notes, and carried out."""
        facts = self.shell.database.facts(self.state)
        state, actions = decide(self.state, facts)
        self.state = carry_out(state, actions, facts, self.shell)
        return [action for action in actions if isinstance(action, Work)]

    def until_it_waits(self) -> list[Action]:
        done: list[Action] = []
        while not done or not isinstance(done[-1], Wait):
            done += self.look()
        return done


def coordinator(*queries: ModelQuery) -> Coordinator:
    database = ModelDatabase(queries={query.id: query for query in queries})
    return Coordinator(ModelShell(database))


def refresh(coordinator: Coordinator, *queries: int, ahead: int = 0, statement: str = "one") -> None:
    database = coordinator.shell.database
    for number in queries:
        run = Run(UUID(int=100 + number), UUID(int=number), "refresh", database.position + ahead, statement)
        database.runs[run.id] = ModelRun(run)


def kinds(actions: Sequence[Action]) -> list[type[Action]]:
    """What is done besides what is read now and then."""
    besides = (ReadSizes, ReadPeriods, CheckDrift, Wait)
    return [type(action) for action in actions if not isinstance(action, besides)]


def test_a_result_is_computed_and_published_and_then_paces_are_chosen() -> None:
    one = coordinator(ModelQuery(standing(1), (1,), 1.0, 1))
    assert kinds(one.until_it_waits()) == [Compute, Publish, ChoosePaces]
    assert kinds(one.until_it_waits()) == []


def test_after_a_success_the_pause_is_short_again() -> None:
    lock = Failure("55P03", "lock timeout")
    query = ModelQuery(standing(1), (1,), 1.0, 1, faults=[lock, lock, lock])
    one = coordinator(query)
    for pause in (1.0, 2.0, 4.0):
        assert Publish not in kinds(one.until_it_waits())
        one.shell.database.seconds += pause
    assert kinds(one.until_it_waits())[:2] == [Compute, Publish]
    query.faults = [lock]
    refresh(one, 1)
    assert kinds(one.until_it_waits()) == [Compute]
    one.shell.database.runs.clear()
    query.running = replace(query.running, status="initialising")
    one.shell.database.seconds += 0.5
    assert Compute in kinds(one.until_it_waits())


def test_an_early_run_that_failed_is_tried_again_at_the_next_mark() -> None:
    query = ModelQuery(standing(1), (1,), 1.0, pace=4)
    one = coordinator(query)
    one.until_it_waits()
    one.shell.database.changes[1] = [(2, 30)]
    one.shell.database.position, query.faults = 2, [Failure("22012", "division by zero", of_values=True)]
    [_read, run] = (action for action in one.until_it_waits() if isinstance(action, ReadPaths | RunEarly))
    assert isinstance(run, RunEarly)
    assert not run.consolidate
    one.shell.database.position = 3
    assert RunEarly not in kinds(one.until_it_waits())
    one.shell.database.changes[1] += [(4, 30)]
    one.shell.database.position = 4
    [again] = (action for action in one.until_it_waits() if isinstance(action, RunEarly))
    assert again.consolidate
    assert again.rows == {PATH: 60}


def test_nothing_is_run_early_while_somebody_waits() -> None:
    query = ModelQuery(standing(1), (1,), 1.0, pace=4)
    one = coordinator(query)
    one.until_it_waits()
    one.shell.database.changes[1] = [(2, 30)]
    one.shell.database.position = 2
    refresh(one, 1, ahead=1)
    assert kinds(one.until_it_waits()) == []
    one.shell.database.runs.clear()
    assert kinds(one.until_it_waits()) == [ReadPaths, RunEarly]


def test_what_nobody_waits_for_any_more_is_discarded() -> None:
    one = coordinator(*(ModelQuery(standing(number), (1,), 1.0, 1) for number in (1, 2)))
    one.until_it_waits()
    refresh(one, 1, 2)
    assert kinds(one.look() + one.look()) == [Compute]
    one.shell.database.runs.clear()
    assert kinds(one.until_it_waits()) == [Discard]
    assert one.shell.computed == {}


def test_a_query_that_fails_goes_behind_all_that_waited_then() -> None:
    broken = ModelQuery(standing(1), (1,), 1.0, 1, faults=[Failure("53100", "disk full")] * 9)
    others = [ModelQuery(standing(number, owner="bob"), (1,), 30.0, 1) for number in (2, 3, 4)]
    one = coordinator(broken, *others)
    assert sorted(order(one.until_it_waits())[:4]) == [1, 2, 3, 4]


def order(actions: Sequence[Action]) -> list[int]:
    """The queries that are computed, one after the other."""
    return [action.due.query.id.int for action in actions if isinstance(action, Compute)]


def test_a_statement_does_not_wait_for_all_that_waited_before_it() -> None:
    many = [ModelQuery(standing(number), (1,), 30.0, 1) for number in (1, 2, 3)]
    one = coordinator(*many, ModelQuery(standing(4, owner="bob"), (1,), 1.0, 1))
    one.until_it_waits()
    refresh(one, 1, 2, 3)
    assert order(one.look() + one.look()) == [1]
    refresh(one, 4, statement="another")
    assert order(one.until_it_waits()) == [4, 2, 3]


def test_who_failed_goes_before_those_who_came_later() -> None:
    """They do not let it wait for ever, however many come."""
    disk_full = Failure("53100", "disk full")
    broken = ModelQuery(standing(1), (1,), 1.0, 1)
    others = [ModelQuery(standing(number, owner="bob"), (1,), 30.0, 1) for number in (3, 4, 5)]
    one = coordinator(broken, ModelQuery(standing(2, owner="bob"), (1,), 0.5, 1), *others)
    one.until_it_waits()
    broken.faults = [disk_full]
    broken.running = replace(broken.running, status="initialising")
    refresh(one, 2)
    assert order([action for _ in range(4) for action in one.look()]) == [2, 1]
    for number in (3, 4, 5):
        refresh(one, number, statement=f"of {number}")
    assert order(one.until_it_waits()) == [3, 1, 4, 5]


def test_a_failure_that_took_no_time_costs_no_turn() -> None:
    """Such as a lock that somebody holds."""
    quick = ModelQuery(standing(2), (1,), 1.0, 1, faults=[Failure("55P03", "lock timeout")])
    others = [ModelQuery(standing(number, owner="bob"), (1,), 30.0, 1) for number in (3, 4)]
    one = coordinator(ModelQuery(standing(1), (1,), 1.0, 1), quick, *others)
    assert order(one.until_it_waits()) == [1, 2, 3, 2, 4]


def test_what_ends_with_the_executor_is_computed_again_at_once() -> None:
    one = coordinator(ModelQuery(standing(1), (1,), 1.0, 1))
    one.shell.engine_losses = 1
    assert kinds(one.until_it_waits())[:3] == [Compute, Compute, Publish]
    one.shell.engine_losses = 2
    refresh(one, 1)
    assert kinds(one.until_it_waits()) == [Compute, Compute]
