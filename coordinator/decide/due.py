"""Which results are due, and which of them are published together: pure, on a clock that the caller has."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias
from uuid import UUID
from zoneinfo import ZoneInfo

from catalog.queries.running import Run, Running
from coordinator.decide.trigger_times import next_time, rows_due


@dataclass(frozen=True, slots=True)
class Due:
    """A query whose result is due, and the statements that wait for it.

    `unasked`: it is due whether they wait or not.
    """

    query: Running
    refreshes: tuple[Run, ...] = ()
    unasked: bool = False


@dataclass(frozen=True, slots=True)
class Situation:
    """What is known besides the queries themselves.

    `position`: up to where changes are captured. `rows_waiting`: of queries whose trigger counts rows.
    `resting`: queries that failed lately; where their data had an error `seen_at` a position, only newer
    changes of what they read, of which the last are at `changed_at`, can mend it. `emptied`: queries whose
    result a crash may have emptied.
    """

    now: datetime
    position: int
    rows_waiting: Mapping[UUID, int]
    resting: Collection[UUID] = ()
    seen_at: Mapping[UUID, int] = field(default_factory=dict)
    changed_at: Mapping[UUID, int] = field(default_factory=dict)
    emptied: Collection[UUID] = ()


Group: TypeAlias = tuple[Due, ...]
"""Queries that are published in one transaction, at one position."""


def is_first(query: Running) -> bool:
    """Whether a result is due because there is none, or none that can be built on."""
    return query.status == "initialising" or not query.has_result


def counts_rows(query: Running) -> bool:
    """Whether the rows that came decide when the query is due."""
    return rows_due(query.options.get("TRIGGER", "on demand")) is not None


def groups(queries: Sequence[Running], refreshes: Sequence[Run], situation: Situation) -> tuple[Group, ...]:
    """What is due, each query in the group with which it is published, in the order of the queries.

    Queries that one REFRESH names, and those of one owner that have the same PUBLISH_GROUP, are published
    together; of the latter all are due when one is. A first result is published by itself.
    """
    able = {query.id: query for query in queries if _is_able(query, situation)}
    # A query in error that rests is left out of what its statement names: of several one would always rest.
    left_out = {query.id for query in queries if query.status == "error" and query.id in situation.resting}
    servable = _servable([run for run in refreshes if run.query not in left_out], able, situation)
    due = {
        id: Due(query, servable.get(id, ()), _is_due_unasked(query, situation)) for id, query in able.items()
    }
    owed = {id for id, member in due.items() if member.refreshes or member.unasked}
    # A query in error is tried whenever something comes: that is no trigger of its group.
    calling = (due[id] for id in owed if due[id].refreshes or able[id].status != "error")
    called = {name for member in calling if (name := _publish_group(member.query)) is not None}
    members = [member for id, member in due.items() if id in owed or _publish_group(member.query) in called]
    return tuple(_together(members))


def _is_able(query: Running, situation: Situation) -> bool:
    return query.captured and query.id not in situation.resting


def _servable(
    refreshes: Sequence[Run], able: Mapping[UUID, Running], situation: Situation
) -> dict[UUID, tuple[Run, ...]]:
    """The runs that can be served now, by query: all of a statement, or none."""
    waiting = {run.statement for run in refreshes if run.query not in able or run.target > situation.position}
    servable: dict[UUID, tuple[Run, ...]] = {}
    for run in refreshes:
        if run.statement not in waiting:
            servable[run.query] = (*servable.get(run.query, ()), run)
    return servable


def _is_due_unasked(query: Running, situation: Situation) -> bool:
    if query.status == "error":
        seen_at = situation.seen_at.get(query.id)
        return seen_at is None or situation.changed_at.get(query.id, 0) > seen_at
    return is_first(query) or query.id in situation.emptied or is_triggered(query, situation)


def is_triggered(query: Running, situation: Situation) -> bool:
    """Whether the query's trigger fires."""
    moment = _time_of(query, situation)
    return (moment is not None and moment <= situation.now) or _has_rows(query, situation)


def due_moment(query: Running, situation: Situation) -> datetime | None:
    """When the trigger fires next, or fired, where the result of that is not there yet.

    Of rows nobody knows when there will be enough: that there are is noticed, and stays noticed.
    """
    moment = _time_of(query, situation)
    if not _has_rows(query, situation):
        return moment
    noticed = query.due if query.due is not None and query.due <= situation.now else situation.now
    return noticed if moment is None else min(moment, noticed)


def _time_of(query: Running, situation: Situation) -> datetime | None:
    zone = ZoneInfo(query.settings.get("TimeZone", "UTC"))
    return next_time(query.options.get("TRIGGER", "on demand"), query.fired or situation.now, zone)


def _has_rows(query: Running, situation: Situation) -> bool:
    most = rows_due(query.options.get("TRIGGER", "on demand"))
    return most is not None and situation.rows_waiting.get(query.id, 0) >= most


def _publish_group(query: Running) -> tuple[str, str] | None:
    """Whose group of which name the query belongs to, once it has a result."""
    name = query.options.get("PUBLISH_GROUP")
    return None if name is None or is_first(query) else (query.owner, name)


def _together(due: Sequence[Due]) -> Iterator[Group]:
    """Queries that have a statement or a group in common, directly or by way of others."""
    leader = {member.query.id: member.query.id for member in due}

    def leader_of(query: UUID) -> UUID:
        while leader[query] != query:
            query = leader[query]
        return query

    first_with: dict[Hashable, UUID] = {}
    for member in due:
        for key in _keys(member):
            leader[leader_of(member.query.id)] = leader_of(first_with.setdefault(key, member.query.id))
    by_leader: dict[UUID, list[Due]] = {}
    for member in due:
        by_leader.setdefault(leader_of(member.query.id), []).append(member)
    yield from map(tuple, by_leader.values())


def _keys(due: Due) -> Iterator[Hashable]:
    if not is_first(due.query):
        yield from (("statement", run.statement) for run in due.refreshes)
        if (group := _publish_group(due.query)) is not None:
            yield group
