"""What the coordinator does next for the standing queries of one database.

`decide` says what to do by what is known; what comes of it is told to `carry_out`'s state, and it is decided
again. Nothing here reads a clock, a file or a database: whoever carries actions out is a `Shell`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol, assert_never
from uuid import UUID

from catalog.queries.paces import Period
from catalog.queries.running import Running
from coordinator.decide import choosing, early_runs, results
from coordinator.decide.actions import (
    Action,
    CheckDrift,
    ChoosePaces,
    Compute,
    Discard,
    FailRun,
    Forget,
    LookAtVerifications,
    Note,
    NoteDue,
    Outcome,
    PacedPeriod,
    PeriodWork,
    Publish,
    Published,
    ReadPaths,
    ReadPeriods,
    ReadSizes,
    RecordFailure,
    ResultWork,
    RunEarly,
    TellRetry,
    Wait,
    Work,
)
from coordinator.decide.choosing import Choices
from coordinator.decide.early_runs import EarlyRuns
from coordinator.decide.facts import Facts
from coordinator.decide.failure_policy import is_blocked, needs_resume, why_not
from coordinator.decide.results import Results

_HOUSEKEEPING_SECONDS: Final = 3600.0

_KNOWN_SECONDS: Final = 0.2
"""So long what was read of the catalog is used again while results are computed that are published together:
reading it takes as long as a small result, and grows with the number of queries."""


@dataclass(frozen=True, slots=True)
class State:
    """All that is kept from one decision to the next; a coordinator that starts has none of it.

    `known`: the queries that there were. `cleaned_at`: when old history was last dropped.
    """

    results: Results = field(default_factory=Results)
    choices: Choices = field(default_factory=Choices)
    early: EarlyRuns = field(default_factory=EarlyRuns)
    known: frozenset[UUID] = frozenset()
    cleaned_at: float = float("-inf")


class Shell(Protocol):
    """Carries actions out, one at a time. What is no query's own failure is raised, and ends everything."""

    def seconds(self) -> float:
        """The time, by a clock that nobody sets."""

    def read_sizes(self, action: ReadSizes) -> Mapping[UUID, float]:
        """How many seconds of work each of these results is expected to be."""

    def compute(self, action: Compute) -> Outcome:
        """Compute a result, and keep it until it is published or discarded."""

    def publish(self, action: Publish) -> Published:
        """Publish results in one transaction."""

    def discard(self, action: Discard) -> None:
        """Discard results that were computed."""

    def note(self, note: Note) -> bool:
        """Record something; False if that failed by a fault of the query's own."""

    def read_periods(self, action: ReadPeriods) -> Mapping[UUID, Period]:
        """The periods of queries as they stand."""

    def check_drift(self, action: CheckDrift) -> bool:
        """Whether a period has drifted."""

    def choose_paces(self, action: ChoosePaces) -> None:
        """Choose the paces of a period; what fails leaves them as they are."""

    def read_paths(self, action: ReadPaths) -> Mapping[UUID, PacedPeriod]:
        """The paths of those among the queries that have early runs."""

    def run_early(self, action: RunEarly) -> Outcome:
        """Run paths, and commit what they computed."""

    def wait(self, action: Wait) -> None:
        """Wait for something that may call for another decision."""


def decide(state: State, facts: Facts) -> tuple[State, tuple[Action, ...]]:
    """What to do now: notes that take no time, then one action that does; the last may be to wait."""
    state, cleaning = _cleaning(state, facts)
    blocked = {query.id: query for query in facts.queries if is_blocked(query)}
    able = {query.id: query for query in facts.queries if query.id not in blocked}
    unable = [
        FailRun(query, run.id, why_not(query))
        for run in facts.runs
        if (query := blocked.get(run.query)) is not None and (needs_resume(query) or run.tried)
    ]
    of_results, recorded, work = results.next_work(state.results, facts, able)
    state = replace(state, results=of_results)
    verifying = LookAtVerifications(able, facts.verifications)
    if work is None and not facts.refreshes:
        state, work = _unasked_work(state, facts, able)
    if work is None:
        work = Wait(facts.position, tuple(run.target for run in facts.refreshes if run.query in able))
    return state, (*cleaning, *unable, *recorded, verifying, work)


def is_still_known(state: State, facts: Facts, actions: Sequence[Action], seconds: float) -> bool:
    """Whether facts need not be read again so many seconds after they were, once actions are carried out.

    Computing a result changes nothing that is in them; what others change in so short a time is found when
    the results are published. Looking at verifications may end some.
    """
    *notes, work = actions
    return (
        seconds < _KNOWN_SECONDS
        and not facts.verifications
        and isinstance(work, Compute)
        and all(isinstance(note, LookAtVerifications) for note in notes)
        and any(work.due.query.id in publication.computed for publication in state.results.publications)
    )


def _cleaning(state: State, facts: Facts) -> tuple[State, tuple[Note, ...]]:
    """What is dropped of queries that are gone, and now and then of what is old."""
    queries = frozenset(query.id for query in facts.queries)
    gone, is_late = state.known - queries, facts.seconds - state.cleaned_at > _HOUSEKEEPING_SECONDS
    cleaned_at = facts.seconds if is_late else state.cleaned_at
    state = replace(state, known=queries, cleaned_at=cleaned_at)
    return state, (Forget(gone, is_late),) if gone or is_late else ()


def _unasked_work(state: State, facts: Facts, able: Mapping[UUID, Running]) -> tuple[State, Work | None]:
    """What is done when no result is due and nobody waits: paces, early runs."""
    choices, choice = choosing.next_choice(state.choices, facts, able)
    state = replace(state, choices=choices)
    if choice is not None:
        return state, choice
    early, run = early_runs.next_early_run(state.early, facts, able)
    state = replace(state, early=early)
    return state, run


def carry_out(state: State, actions: Iterable[Action], facts: Facts, shell: Shell) -> State:
    """The state when actions are carried out, and what follows from their outcomes is recorded."""
    for action in actions:
        state = _carry_out(state, action, facts, shell)
    return state


def _carry_out(state: State, action: Action, facts: Facts, shell: Shell) -> State:
    match action:
        case ReadSizes() | Compute() | Publish() | Discard():
            of_results, notes = _result_work(state.results, action, facts, shell)
            return _noted(replace(state, results=of_results), notes, shell)
        case ReadPeriods() | CheckDrift() | ChoosePaces() | ReadPaths() | RunEarly():
            return _period_work(state, action, facts, shell)
        case Wait():
            shell.wait(action)
            return state
        case FailRun() | TellRetry() | RecordFailure() | NoteDue() | LookAtVerifications() | Forget():
            return _noted(state, (action,), shell)
        case _:
            assert_never(action)


def _result_work(
    state: Results, action: ResultWork, facts: Facts, shell: Shell
) -> tuple[Results, tuple[Note, ...]]:
    began = shell.seconds()
    match action:
        case ReadSizes():
            return results.after_sizes(state, action, shell.read_sizes(action), facts), ()
        case Compute():
            outcome = shell.compute(action)
            return results.after_compute(state, action, outcome, began, shell.seconds())
        case Publish():
            published = shell.publish(action)
            return results.after_publish(state, action, published, shell.seconds())
        case Discard():
            shell.discard(action)
            return state, ()
        case _:
            assert_never(action)


def _period_work(state: State, action: PeriodWork, facts: Facts, shell: Shell) -> State:
    began = shell.seconds()
    match action:
        case ReadPeriods():
            periods = shell.read_periods(action)
            return replace(state, choices=choosing.after_periods(state.choices, periods, began))
        case CheckDrift():
            has_drifted = shell.check_drift(action)
            return replace(state, choices=choosing.after_check(state.choices, action, has_drifted))
        case ChoosePaces():
            shell.choose_paces(action)
            queries, ended = len(facts.queries), shell.seconds()
            choices = choosing.after_choice(state.choices, action, queries, began, ended)
            return replace(state, choices=choices, early=state.early.renewed())
        case ReadPaths():
            paced = shell.read_paths(action)
            return replace(state, early=early_runs.after_reading(state.early, paced, facts.position))
        case RunEarly():
            outcome = shell.run_early(action)
            return replace(state, early=early_runs.after_early_run(state.early, action, outcome))
        case _:
            assert_never(action)


def _noted(state: State, notes: Iterable[Note], shell: Shell) -> State:
    """Record notes; a query of which something cannot be recorded is left alone for a while."""
    for note in notes:
        if not shell.note(note) and isinstance(note, FailRun | TellRetry | RecordFailure):
            unrecorded = results.after_unrecorded(state.results, note.query.id, shell.seconds())
            state = replace(state, results=unrecorded)
    return state
