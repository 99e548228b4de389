"""Which result is computed or published next, and what its failure means for it and for others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from catalog.queries.running import Failure, Running
from coordinator.decide.actions import (
    Compute,
    Computed,
    Discard,
    Failed,
    Note,
    NoteDue,
    NotWanted,
    Outcome,
    Publication,
    Publish,
    Published,
    ReadSizes,
    RecordFailure,
    TellRetry,
    Waiting,
    Work,
)
from coordinator.decide.due import Due, Group, Situation, due_moment, groups, is_first
from coordinator.decide.facts import Facts
from coordinator.decide.failure_policy import Resting, is_retried_in_silence, status_after
from coordinator.decide.turns import Request, Turns


@dataclass(frozen=True, slots=True)
class Results:
    """The publications that have begun, whose turn it is, and which queries are left alone for a while.

    `whole`: queries whose tables were not emptied by a crash since this process has looked.
    `engine_lost`: queries whose computation ended together with the executor; that is tried once more.
    """

    publications: tuple[Publication, ...] = ()
    turns: Turns = field(default_factory=Turns)
    waiting: Mapping[UUID, Waiting] = field(default_factory=dict)
    resting: Resting = field(default_factory=Resting)
    whole: frozenset[UUID] = frozenset()
    engine_lost: frozenset[UUID] = frozenset()

    @property
    def positions(self) -> tuple[int, ...]:
        """The positions at which results have begun to be computed."""
        return tuple(publication.position for publication in self.publications)

    def is_emptied(self, query: Running) -> bool:
        """Whether a crash may have emptied the query's table since it was last looked at."""
        return query.unlogged and query.id not in self.whole


def next_work(
    state: Results, facts: Facts, able: Mapping[UUID, Running]
) -> tuple[Results, tuple[Note, ...], Work | None]:
    """What is to be done for results, if any is due; and what is recorded before that."""
    state = _going_on_with(state, facts, able)
    for publication in state.publications:
        if not publication.left:
            waiting = {id: state.waiting[id] for id in publication.computed}
            return _without(state, publication), (), Publish(publication, waiting)
        if not _is_wanted(publication, facts):
            return _without(state, publication), (), Discard(publication)
    situation = _situation(state, facts)
    begun = {id for publication in state.publications for id in publication.members}
    free = [query for id, query in able.items() if id not in begun]
    notes = _due_notes(free, situation)
    due = [_begun(group, facts.position) for group in groups(free, facts.refreshes, situation)]
    members = {id for publication in due for id in publication.members}
    waiting = {id: waiting for id, waiting in state.waiting.items() if id in members or id in begun}
    state = replace(state, waiting=waiting)
    if new := members - waiting.keys():
        return state, notes, ReadSizes(frozenset(new))
    state, work = _whose_turn(state, (*state.publications, *due), {run.query for run in facts.refreshes})
    return state, notes, work


def after_sizes(state: Results, action: ReadSizes, sizes: Mapping[UUID, float], facts: Facts) -> Results:
    """The state when it is known how many seconds of work these results are; from now on they wait."""
    new = {id: Waiting(facts.now, facts.seconds, sizes.get(id, 0.0)) for id in action.queries}
    return replace(state, waiting={**state.waiting, **new})


def after_compute(
    state: Results, action: Compute, outcome: Outcome, began: float, ended: float
) -> tuple[Results, tuple[Note, ...]]:
    """The state when a result is computed, or is not; who failed stays out of the publication."""
    query = action.due.query
    match outcome:
        case Computed():
            return _leaving(state, query.id, action.due), ()
        case NotWanted():
            return _leaving(state, query.id), ()
        case Failed(engine_lost=True) if query.id not in state.engine_lost:
            # It need not be this query's doing, and who stays out is not where the others are.
            return replace(state, engine_lost=state.engine_lost | {query.id}), ()
        case Failed(failure=failure):
            took, position = ended - began, action.publication.position
            resting = state.resting.set_aside(query.id, ended, failure, position, took)
            state = replace(state, resting=resting)
            return _leaving(state, query.id), (_consequence(action.due, failure),)


def after_publish(
    state: Results, action: Publish, published: Published, seconds: float
) -> tuple[Results, tuple[Note, ...]]:
    """The state when results are published; what could not be is computed again."""
    resting, notes = state.resting, []
    for id in published.done:
        resting = resting.without(id)
    for id, failure in published.failed.items():
        resting = resting.set_aside(id, seconds, failure, action.publication.position)
        if failure is not None:
            notes.append(_consequence(action.publication.computed[id], failure))
    waiting = {id: waiting for id, waiting in state.waiting.items() if id not in published.done}
    whole = state.whole | published.done
    return replace(state, resting=resting, waiting=waiting, whole=whole), tuple(notes)


def after_unrecorded(state: Results, query: UUID, seconds: float) -> Results:
    """The state when the failure of a query could not be recorded: it is left alone all the same."""
    return replace(state, resting=state.resting.set_aside(query, seconds))


def _consequence(due: Due, failure: Failure) -> Note:
    """What is said of a failure; of one that may pass by itself only to who waits."""
    if is_retried_in_silence(failure):
        return TellRetry(due.query, failure)
    return RecordFailure(due.query, status_after(failure), failure, due.refreshes)


def _going_on_with(state: Results, facts: Facts, able: Mapping[UUID, Running]) -> Results:
    """Leave out queries that were dropped or suspended; take the others as they are now."""
    there = {query.id for query in facts.queries}
    going_on = (_with_queries(publication, able) for publication in state.publications)
    return replace(
        state,
        publications=tuple(publication for publication in going_on if publication.members),
        resting=state.resting.among(there),
        whole=state.whole & there,
        engine_lost=state.engine_lost & there,
    )


def _with_queries(publication: Publication, able: Mapping[UUID, Running]) -> Publication:
    left = {id: replace(due, query=able[id]) for id, due in publication.left.items() if id in able}
    return replace(publication, left=left)


def _is_wanted(publication: Publication, facts: Facts) -> bool:
    """Whether a statement still waits for it, or it would be due without one."""
    return publication.unasked or any(run.id in publication.runs for run in facts.runs)


def _situation(state: Results, facts: Facts) -> Situation:
    asked = {run.query for run in facts.refreshes if run.target <= facts.position}
    return Situation(
        now=facts.now,
        position=facts.position,
        rows_waiting=facts.rows_waiting,
        resting=state.resting.now(asked, facts.seconds),
        seen_at=state.resting.seen_at,
        changed_at=facts.changed_at,
        emptied={query.id for query in facts.queries if state.is_emptied(query)},
    )


def _due_notes(queries: Sequence[Running], situation: Situation) -> tuple[Note, ...]:
    moments = {query.id: due_moment(query, situation) if query.has_result else None for query in queries}
    changed = {query.id: moments[query.id] for query in queries if moments[query.id] != query.due}
    return (NoteDue(changed),) if changed else ()


def _begun(group: Group, position: int) -> Publication:
    runs = frozenset(run.id for due in group for run in due.refreshes)
    unasked = any(due.unasked for due in group)
    return Publication(position, {due.query.id: due for due in group}, {}, runs, unasked)


def _whose_turn(
    state: Results, publications: Sequence[Publication], asked: set[UUID]
) -> tuple[Results, Work | None]:
    """The result that is computed next, and the state in which its publication has begun."""
    requests: dict[Request, tuple[Publication, Due]] = {}
    for publication in publications:
        is_awaited = any(id in asked or is_first(due.query) for id, due in publication.left.items())
        for due in publication.left.values():
            requests[_request(state, due, is_awaited)] = publication, due
    if not requests:
        return state, None
    request, turns = state.turns.next(_in_time(state, list(requests)))
    publication, due = requests[request]
    if publication not in state.publications:
        state = replace(state, publications=(*state.publications, publication))
    compute = Compute(due, publication, state.is_emptied(due.query), request.awaited)
    return replace(state, turns=turns), compute


def _request(state: Results, due: Due, is_awaited: bool) -> Request:
    """A statement's queries share its time; so do those of a group that nobody asked for."""
    query = due.query
    group = query.options.get("PUBLISH_GROUP", query.id)
    statement = due.refreshes[0].statement if due.refreshes else group
    return Request(query.id, query.owner, statement, state.waiting[query.id].seconds, is_awaited)


def _in_time(state: Results, requests: Sequence[Request]) -> list[Request]:
    """Who failed after a while comes after all that were waiting then: nobody waits for a second failure."""

    def since(request: Request) -> float:
        failed = state.resting.delayed_others(request.query)
        return state.waiting[request.query].since if failed is None else failed

    first = min(map(since, requests))
    return [
        request
        for request in requests
        if state.resting.delayed_others(request.query) is None or since(request) <= first
    ]


def _leaving(state: Results, query: UUID, computed: Due | None = None) -> Results:
    """The query is not left to compute in its publication; if it is computed, that is kept."""
    publications = []
    for publication in state.publications:
        if query in publication.left:
            left = {id: due for id, due in publication.left.items() if id != query}
            done = publication.computed if computed is None else {**publication.computed, query: computed}
            publication = replace(publication, left=left, computed=done)
        publications.append(publication)
    return replace(state, publications=tuple(publications), engine_lost=state.engine_lost - {query})


def _without(state: Results, publication: Publication) -> Results:
    publications = tuple(other for other in state.publications if other is not publication)
    return replace(state, publications=publications)
