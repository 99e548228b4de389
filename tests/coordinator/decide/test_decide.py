"""What the coordinator decides, in any order of arrivals, triggers, failures, changes, kills and restarts.

Promised: no trigger fires twice, nothing that is due is forgotten, and no failure of one query delays another
for longer than its own computation.
"""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, precondition, rule

from catalog.queries.running import Failure, Run
from coordinator.decide.decide import State, carry_out, decide, is_still_known
from coordinator.decide.facts import Facts
from coordinator.decide.failure_policy import is_blocked
from tests.support.deciding.model_database import ModelDatabase, ModelQuery, ModelRun, standing, trigger
from tests.support.deciding.model_shell import Killed, ModelShell

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


class Decisions(RuleBasedStateMachine):
    """A database that everything happens to, and a coordinator that is killed now and then."""

    queries = Bundle("queries")

    def __init__(self) -> None:
        super().__init__()
        self.database = ModelDatabase()
        self.state, self.shell = State(), ModelShell(self.database)
        self.made = 0
        self.known: Facts | None = None
        self.read_at = 0.0

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
        facts, database = self.known, self.database
        self.shell.is_known = facts is not None
        if facts is None:
            facts, self.read_at = database.facts(self.state), database.seconds
        facts = replace(facts, now=database.now, seconds=database.seconds, position=database.position)
        self.known = None
        try:
            state, actions = decide(self.state, facts)
            self.state = carry_out(state, actions, facts, self.shell)
            if is_still_known(self.state, facts, actions, database.seconds - self.read_at):
                self.known = facts
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
