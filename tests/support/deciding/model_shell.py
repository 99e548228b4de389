"""Carries decisions out on a model, may be killed at any step, and checks what is promised of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import assert_never
from uuid import UUID

from catalog.queries.paces import Period
from catalog.queries.running import Failure
from coordinator.decide.actions import (
    CheckDrift,
    ChoosePaces,
    Compute,
    Computed,
    Discard,
    Failed,
    FailRun,
    Forget,
    LookAtVerifications,
    Note,
    NoteDue,
    NotWanted,
    Outcome,
    PacedPeriod,
    Publish,
    Published,
    ReadPaths,
    ReadPeriods,
    ReadSizes,
    RecordFailure,
    RunEarly,
    TellRetry,
    Wait,
)
from coordinator.decide.failure_policy import NO_TIME_SECONDS, needs_resume
from coordinator.decide.pacing import Paced
from planner.pace.paths import Path
from tests.support.deciding.model_database import ModelDatabase, ModelQuery, trigger

PATH = Path(1, 0)
NO_DIVISION = Failure("22012", "division by zero", of_values=True)


class Killed(BaseException):
    """The process ends here, whatever it was at."""


@dataclass
class ModelShell:
    """Carries out what is decided in one process, which is killed at a step if that is asked for."""

    database: ModelDatabase
    kill_in: int | None = None
    engine_losses: int = 0
    unrecorded: int = 0
    interruptions: int = 0
    lost: set[UUID] = field(default_factory=set)
    whole: set[UUID] = field(default_factory=set)
    pauses: dict[UUID, tuple[float, float]] = field(default_factory=dict)
    tried: dict[UUID, int] = field(default_factory=dict)
    computed: dict[UUID, int] = field(default_factory=dict)
    failed: list[tuple[float, UUID]] = field(default_factory=list)
    waiting_since: dict[UUID, float] = field(default_factory=dict)
    has_refused: bool = False
    has_waited: bool = False
    takes_time: bool = True
    is_known: bool = False
    """Whether facts are used again, so that who waited may have gone since."""

    def _take(self, seconds: float) -> None:
        if self.takes_time:
            self.database.seconds += seconds

    def _step(self) -> None:
        """A point at which the process may be killed."""
        if self.kill_in is not None:
            self.kill_in -= 1
            if self.kill_in < 0:
                raise Killed

    def seconds(self) -> float:
        return self.database.seconds

    def read_sizes(self, action: ReadSizes) -> Mapping[UUID, float]:
        self._step()
        due = [self.database.queries[id] for id in action.queries]
        for query in due:
            self._check_is_due(query)
        self.waiting_since |= {query.id: self.database.seconds for query in due}
        return {query.id: query.seconds for query in due}

    def compute(self, action: Compute) -> Outcome:
        self._step()
        id, runs = action.due.query.id, action.publication.runs
        assert id not in self.computed, "it is computed already, and not published"
        if not action.publication.unasked and all(run.id not in runs for run in self.database.waiting()):
            assert self.is_known, "nobody waits for it"
            return NotWanted()
        self._check_delays(id)
        self._check_has_rested(id)
        if self.interruptions:
            self.interruptions -= 1
            self.lost.discard(id)
            return NotWanted()
        query, is_lost = self.database.queries[id], self.engine_losses > 0
        failure = self._failure(query, action.publication.position)
        seconds = 0.0 if failure is not None and failure.sqlstate == "55P03" else query.seconds
        self._take(seconds)
        self._step()
        if failure is None:
            self.computed[id] = action.publication.position
            self.lost.discard(id)
            return Computed()
        if is_lost and id not in self.lost:
            self.lost.add(id)
            return Failed(failure, True)
        self.lost.discard(id)
        if seconds > NO_TIME_SECONDS:
            self.failed.append((self.database.seconds, id))
        self.waiting_since.pop(id, None)
        self._set_aside(id, failure)
        return Failed(failure, is_lost)

    def _failure(self, query: ModelQuery, position: int) -> Failure | None:
        if self.engine_losses:
            self.engine_losses -= 1
            return Failure("58000", "the executor has ended")
        if query.faults:
            return query.faults.pop(0)
        if self.database.last_change(query) <= query.bad_data and position >= query.bad_data:
            return NO_DIVISION
        return None

    def _check_delays(self, query: UUID) -> None:
        """Each other query delays it by one failed computation, besides one in which the executor ended."""
        since = self.waiting_since.get(query)
        if since is None:
            return
        delays = Counter(other for at, other in self.failed if at > since and other != query)
        assert all(count <= 1 for count in delays.values()), delays

    def _set_aside(self, query: UUID, failure: Failure | None = None) -> None:
        """The query failed, and is left alone for a while: twice as long each time."""
        _since, pause = self.pauses.get(query, (0.0, 0.0))
        longest = 20.0 if failure is not None and failure.sqlstate == "53100" else 300.0
        self.pauses[query] = self.database.seconds, min(max(2 * pause, 1.0), longest)

    def _check_has_rested(self, query: UUID) -> None:
        since, pause = self.pauses.get(query, (float("-inf"), 0.0))
        is_asked = any(run.query == query for run in self.database.waiting())
        assert self.database.seconds >= since + (min(pause, 1.0) if is_asked else pause)

    def _check_that_nothing_is_due(self) -> None:
        """What is due is computed before anything is waited for, unless it has failed lately."""
        for query in self.database.queries.values():
            since, pause = self.pauses.get(query.id, (0.0, 0.0))
            is_able = query.running.status in ("active", "initialising") and query.running.captured
            if is_able and self.database.seconds >= since + pause:
                assert not self._is_due(query)
        is_told_later, self.has_refused = self.has_refused, False
        for run in self.database.waiting():
            in_vain = needs_resume(self.database.queries[run.query].running)
            assert is_told_later or not in_vain, "it waits in vain"

    def _is_due(self, query: ModelQuery) -> bool:
        running, words = query.running, trigger(query.running)
        if running.status == "initialising" or running.position is None:
            return True
        if running.unlogged and query.id not in self.whole:
            return True
        if words.endswith("rows"):
            return sum(self.database.arrived(query).values()) >= int(words.split()[1])
        if words.startswith("every "):
            fired = running.fired
            return fired is not None and self.database.now >= fired + timedelta(
                seconds=float(words.split()[1])
            )
        return False

    def publish(self, action: Publish) -> Published:
        self._step()
        done, failed = set(), dict[UUID, Failure | None]()
        positions = {id: self.computed.pop(id) for id in action.publication.computed}
        for id, position in positions.items():
            query = self.database.queries.get(id)
            if query is None or query.running.text != action.publication.computed[id].query.text:
                failed[id] = None
                self._set_aside(id)
            elif query.unpublishable:
                query.unpublishable -= 1
                failed[id] = Failure("55P03", "lock timeout")
                self._set_aside(id, failed[id])
            else:
                self._commit(query, action, position)
                done.add(id)
        self._step()
        return Published(frozenset(done), failed)

    def _commit(self, query: ModelQuery, action: Publish, position: int) -> None:
        moment = action.waiting[query.id].moment
        query.running = replace(
            query.running, status="active", sqlstate=None, position=position, fired=moment, due=None
        )
        query.rows_run = 0
        self.whole.add(query.id)
        self.pauses.pop(query.id, None)
        self.tried.pop(query.id, None)
        for known in self.database.runs.values():
            if known.state == "waiting" and known.run.query == query.id and known.run.target <= position:
                known.state = "done"

    def _check_is_due(self, query: ModelQuery) -> None:
        """No trigger fires twice: a result that nobody asks for is due by the query's own words."""
        running = query.running
        is_special = running.status != "active" or running.position is None or running.unlogged
        is_asked = any(run.query == query.id for run in self.database.waiting())
        if is_asked or is_special or "PUBLISH_GROUP" in running.options:
            return
        assert self._is_due(query)

    def discard(self, action: Discard) -> None:
        self._step()
        for id in action.publication.computed:
            del self.computed[id]

    def note(self, note: Note) -> bool:
        self._step()
        match note:
            case FailRun(query=query, run=run):
                return self._recorded(query.id) and self._fail_run(run)
            case TellRetry(query=query, failure=failure):
                assert failure.sqlstate in ("55P03", "40001")
                return self._recorded(query.id)
            case RecordFailure(query=query, status=status, failure=failure, refreshes=refreshes):
                assert failure.sqlstate not in ("55P03", "40001")
                assert (status == "suspended") == (failure.sqlstate == "42501")
                if not self._recorded(query.id):
                    return False
                known = self.database.queries.get(query.id)
                if known is not None and known.running.text == query.text:
                    known.running = replace(known.running, status=status, sqlstate=failure.sqlstate)
                    for refresh in refreshes:
                        self._fail_run(refresh.id)
            case NoteDue(moments=moments):
                for id, moment in moments.items():
                    if id in self.database.queries:
                        known = self.database.queries[id]
                        known.running = replace(known.running, due=moment)
            case LookAtVerifications() | Forget():
                pass
            case _:
                assert_never(note)
        return True

    def _recorded(self, query: UUID) -> bool:
        if self.unrecorded:
            self.unrecorded -= 1
            self.has_refused = True
            self._set_aside(query)
            return False
        return True

    def _fail_run(self, run: UUID) -> bool:
        known = self.database.runs[run]
        assert known.state != "done", "it is said to have failed after it was said to be done"
        known.state = "failed" if known.state == "waiting" else known.state
        return True

    def read_periods(self, action: ReadPeriods) -> Mapping[UUID, Period]:
        self._step()
        queries = self.database.queries
        return {id: self.database.period(queries[id]) for id in action.queries if id in queries}

    def check_drift(self, action: CheckDrift) -> bool:
        self._step()
        query = self.database.queries[action.query.id]
        assert action.query.position == query.running.position, "its period has ended since"
        return query.id.int % 2 == 0

    def choose_paces(self, action: ChoosePaces) -> None:
        self._step()
        assert action.query.status == "active"
        self._take(0.01)

    def read_paths(self, action: ReadPaths) -> Mapping[UUID, PacedPeriod]:
        self._step()
        read = {}
        for running in action.queries:
            query = self.database.queries.get(running.id)
            if query is not None and query.pace > 1:
                paced = Paced(PATH, query.pace, frozenset(query.tables), query.rows_run)
                read[query.id] = PacedPeriod((paced,), self.database.period(query))
        return read

    def run_early(self, action: RunEarly) -> Outcome:
        self._step()
        query, rows = self.database.queries[action.query.id], action.rows[PATH]
        assert rows > query.rows_run, "the rows of this mark have been run"
        assert rows > self.tried.get(query.id, 0), "it has failed with these rows"
        assert self.database.waiting() == (), "somebody waits for a result"
        failure = self._failure(query, action.position)
        self._take(query.seconds / query.pace)
        self._step()
        if failure is not None:
            self.tried[query.id] = rows
            return Failed(failure)
        query.rows_run = rows
        self._step()
        return Computed()

    def wait(self, action: Wait) -> None:
        self._step()
        assert action.position <= self.database.position
        self._check_that_nothing_is_due()
        self.has_waited = True
        self._take(0.5)
