"""What the coordinator decides, in any order of arrivals, triggers, failures, changes, kills and restarts.

Promised: no trigger fires twice, nothing that is due is forgotten, and no failure of one query delays another
for longer than its own computation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, precondition, rule

from catalog.queries.running import Failure, Run, Running
from coordinator.decide.actions import (
    Action,
    CheckDrift,
    ChoosePaces,
    Compute,
    Discard,
    Merge,
    Publish,
    ReadPaths,
    ReadPeriods,
    ReadSizes,
    RunEarly,
    Wait,
    Work,
)
from coordinator.decide.decide import State, carry_out, decide
from coordinator.decide.failure_policy import is_blocked
from tests.support.deciding.model_database import ModelDatabase, ModelQuery, ModelRun, trigger
from tests.support.deciding.model_shell import PATH, Killed, ModelShell

TRIGGERS = ("on demand", "every 5 s", "every 60 s", "every 10 rows", "every 100 rows")
FAILURES = (
    Failure("22012", "division by zero", of_values=True),
    Failure("55P03", "lock timeout"),
    Failure("40001", "concurrent change"),
    Failure("53100", "disk full"),
    Failure("42501", "permission denied"),
    Failure("0A000", "not supported any more"),
    Failure("58000", "the executor has ended"),
)
LONGEST_PAUSE_SECONDS = 301.0
MOST_LOOKS = 2000
MOST_QUERIES = 5


def standing(number: int, **changes: object) -> Running:
    """A query that has just been made."""
    query = Running(
        id=UUID(int=number),
        view=number,
        result=number,
        text="SELECT 1",
        options={},
        settings={"TimeZone": "UTC"},
        status="initialising",
        sqlstate=None,
        detail=None,
        position=None,
        fired=None,
        captured=True,
        unlogged=False,
        schema="public",
        name=f"q{number}",
        owner="ann",
    )
    return replace(query, **changes)  # type: ignore[arg-type]


class Decisions(RuleBasedStateMachine):
    """A database that everything happens to, and a coordinator that is killed now and then."""

    queries = Bundle("queries")

    def __init__(self) -> None:
        super().__init__()
        self.database = ModelDatabase()
        self.state, self.shell = State(), ModelShell(self.database)
        self.made = 0

    def number(self) -> UUID:
        self.made += 1
        return UUID(int=self.made)

    @precondition(lambda self: len(self.database.queries) < MOST_QUERIES)
    @rule(
        target=queries,
        trigger=st.sampled_from(TRIGGERS),
        tables=st.sets(st.integers(1, 3), min_size=1),
        seconds=st.sampled_from((0.1, 1.0, 30.0)),
        pace=st.sampled_from((1, 4)),
        group=st.sampled_from((None, None, "g")),
        owner=st.sampled_from(("ann", "bob")),
        unlogged=st.booleans(),
    )
    def create(
        self,
        trigger: str,
        tables: set[int],
        seconds: float,
        pace: int,
        group: str | None,
        owner: str,
        unlogged: bool,
    ) -> UUID:
        id = self.number()
        options = {"TRIGGER": trigger} | ({} if group is None else {"PUBLISH_GROUP": group})
        running = standing(id.int, options=options, unlogged=unlogged, owner=owner)
        self.database.queries[id] = ModelQuery(running, tuple(sorted(tables)), seconds, pace)
        return id

    @rule(query=consumes(queries))
    def drop(self, query: UUID) -> None:
        del self.database.queries[query]
        for known in self.database.runs.values():
            if known.run.query == query and known.state == "waiting":
                known.state = "gone"

    @rule(query=queries, trigger=st.sampled_from(TRIGGERS))
    def alter(self, query: UUID, trigger: str) -> None:
        known = self.database.queries[query]
        known.running = replace(known.running, options={**known.running.options, "TRIGGER": trigger})

    @rule(query=queries)
    def replace_query(self, query: UUID) -> None:
        known = self.database.queries[query]
        known.running = replace(known.running, status="initialising", text=known.running.text + " ")

    @rule(query=queries, is_captured=st.booleans())
    def capture(self, query: UUID, is_captured: bool) -> None:
        known = self.database.queries[query]
        known.running = replace(known.running, captured=is_captured)

    @rule(query=queries)
    def suspend(self, query: UUID) -> None:
        known = self.database.queries[query]
        known.running = replace(known.running, status="suspended", sqlstate=None)

    @rule(query=queries)
    def resume(self, query: UUID) -> None:
        known = self.database.queries[query]
        known.running = replace(known.running, status="active", sqlstate=None)

    @rule(table=st.integers(1, 3), rows=st.sampled_from((1, 5, 30, 200)))
    def arrive(self, table: int, rows: int) -> None:
        self.database.position += 1
        self.database.changes.setdefault(table, []).append((self.database.position, rows))

    @rule(asked=st.lists(queries, min_size=1, max_size=3, unique=True), ahead=st.integers(0, 1))
    def refresh(self, asked: list[UUID], ahead: int) -> None:
        statement = str(self.number())
        for query in asked:
            run = Run(self.number(), query, "refresh", self.database.position + ahead, statement)
            self.database.runs[run.id] = ModelRun(run)

    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        if waiting := [known for known in self.database.runs.values() if known.state == "waiting"]:
            statement = data.draw(st.sampled_from(waiting)).run.statement
            for known in waiting:
                known.state = "gone" if known.run.statement == statement else known.state

    @rule(query=queries, failures=st.lists(st.sampled_from(FAILURES), min_size=1, max_size=4))
    def fail(self, query: UUID, failures: list[Failure]) -> None:
        self.database.queries[query].faults += failures

    @rule(query=queries)
    def have_bad_data(self, query: UUID) -> None:
        known = self.database.queries[query]
        known.bad_data = self.database.last_change(known)

    @rule(query=queries, times=st.integers(1, 3))
    def refuse_publishing(self, query: UUID, times: int) -> None:
        self.database.queries[query].unpublishable += times

    @rule(losses=st.integers(1, 3))
    def lose_engine(self, losses: int) -> None:
        self.shell.engine_losses += losses

    @rule()
    def interrupt(self) -> None:
        self.shell.interruptions += 1

    @rule()
    def refuse_records(self) -> None:
        self.shell.unrecorded += 1

    @rule(steps=st.integers(0, 20))
    def kill(self, steps: int) -> None:
        self.shell.kill_in = steps

    @rule(seconds=st.sampled_from((0.5, 1.2, 4.0, 61.0)))
    def pass_time(self, seconds: float) -> None:
        self.database.seconds += seconds

    @rule(looks=st.sampled_from((1, 2, 5, 20)))
    def look(self, looks: int) -> None:
        for _ in range(looks):
            self._look()

    def _look(self) -> None:
        facts = self.database.facts(self.state)
        try:
            state, actions = decide(self.state, facts)
            self.state = carry_out(state, actions, facts, self.shell)
        except Killed:
            losses = self.shell.engine_losses
            self.state, self.shell = State(), ModelShell(self.database, engine_losses=losses)

    @rule()
    def settle(self) -> None:
        """When nothing is wrong any more, everything that is due comes, and then nothing is done."""
        self.shell.kill_in, self.shell.engine_losses = None, 0
        self.shell.unrecorded = self.shell.interruptions = 0
        for query in self.database.queries.values():
            query.faults.clear()
            query.unpublishable, query.bad_data = 0, -1
            query.running = replace(query.running, captured=True)
        self.database.position += 1  # also what asked for more than there was
        self.shell.takes_time = False
        for _ in range(3):  # what is published too late for a change is set aside once more
            self.database.seconds += LONGEST_PAUSE_SECONDS
            self._until_waiting()
        self.shell.takes_time = True
        self._check_that_nothing_is_forgotten()
        assert not self.shell.computed

    def _until_waiting(self) -> None:
        for _ in range(MOST_LOOKS):
            self.shell.has_waited = False
            self._look()
            if self.shell.has_waited:
                return
        raise AssertionError("it never rests")

    def _check_that_nothing_is_forgotten(self) -> None:
        able = {id: known for id, known in self.database.queries.items() if not is_blocked(known.running)}
        assert [run for run in self.database.waiting() if run.query in able] == []
        for known in able.values():
            running = known.running
            if running.status == "error":  # it waits for newer changes of its data
                continue
            assert running.status == "active"
            assert running.position is not None
            words = trigger(running)
            if words.startswith("every ") and words.endswith(" s"):
                assert running.fired is not None
                seconds = (self.database.now - running.fired).total_seconds()
                assert seconds < float(words.split()[1])
            elif words.endswith("rows"):
                assert sum(self.database.arrived(known).values()) < int(words.split()[1])


Decisions.TestCase.settings = settings(
    max_examples=200,
    stateful_step_count=100,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
TestDecisions = Decisions.TestCase


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


def refresh(coordinator: Coordinator, *queries: int, ahead: int = 0) -> None:
    database = coordinator.shell.database
    for number in queries:
        run = Run(UUID(int=100 + number), UUID(int=number), "refresh", database.position + ahead, "one")
        database.runs[run.id] = ModelRun(run)


def kinds(actions: Sequence[Action]) -> list[type[Action]]:
    """What is done besides what is read now and then."""
    besides = (ReadSizes, ReadPeriods, CheckDrift, Merge, Wait)
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
    order = [action.due.query.id.int for action in one.until_it_waits() if isinstance(action, Compute)]
    assert sorted(order[:4]) == [1, 2, 3, 4]


def test_what_ends_with_the_executor_is_computed_again_at_once() -> None:
    one = coordinator(ModelQuery(standing(1), (1,), 1.0, 1))
    one.shell.engine_losses = 1
    assert kinds(one.until_it_waits())[:3] == [Compute, Compute, Publish]
    one.shell.engine_losses = 2
    refresh(one, 1)
    assert kinds(one.until_it_waits()) == [Compute, Compute]
