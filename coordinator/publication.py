"""Results that are published in one transaction, from the first that is computed to their commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from psycopg import Connection

from catalog.awaited import is_awaited
from catalog.failpoints import failpoint
from catalog.running import Running
from catalog.store import hold_epoch
from catalog.telling import finish_refreshes
from coordinator.due import Due, Group
from coordinator.failing import ends_all
from coordinator.fired import Clock
from coordinator.query import Ready, StandingQuery


@dataclass(frozen=True, slots=True)
class Waiting:
    """Since when a query is due, and how many seconds of work it is expected to take."""

    moment: datetime
    clock: Clock
    seconds: float


@dataclass(frozen=True, slots=True)
class Computed:
    """A result that is about to be published, and for whom."""

    due: Due
    waiting: Waiting
    standing: StandingQuery
    ready: Ready


@dataclass(slots=True)
class Publication:
    """A group of queries: up to which position they are computed, and which of them are.

    `runs`: those that ask for it. `unasked`: it is due whether those wait or not.
    """

    position: int
    left: dict[UUID, Due]
    runs: frozenset[UUID] = frozenset()
    unasked: bool = True
    computed: list[Computed] = field(default_factory=list)

    @staticmethod
    def of(group: Group, position: int) -> Publication:
        """The publication of a group's results, none of which is computed yet."""
        runs = frozenset(run.id for due in group for run in due.refreshes)
        unasked = any(due.unasked for due in group)
        return Publication(position, {due.query.id: due for due in group}, runs, unasked)

    def is_wanted(self, connection: Connection) -> bool:
        """Whether a statement still waits for it, or it would be due without one."""
        return self.unasked or is_awaited(connection, self.runs)

    def wanted(self, connection: Connection, query_is_kept: Callable[[], bool]) -> Callable[[], bool]:
        """Whether one of its queries is still to be computed, to be asked now and then."""
        return lambda: query_is_kept() and self.is_wanted(connection)

    @property
    def members(self) -> set[UUID]:
        """The queries that no other publication may have meanwhile."""
        return {*self.left, *(result.due.query.id for result in self.computed)}

    def progress(self, query: Running) -> str | None:
        """What is told to those who wait for several results while one is computed."""
        count = len(self.members)
        place = len(self.computed) + 1
        return None if count == 1 else f"computing {query}, {place} of {count} that are published together"

    def go_on_with(self, queries: Mapping[UUID, Running]) -> None:
        """Leave out those that were dropped or suspended; take the others as they are now."""
        self.left = {id: replace(due, query=queries[id]) for id, due in self.left.items() if id in queries}

    def discard(self, connection: Connection | None = None) -> None:
        """Discard what was computed: it is certain not to be published."""
        for result in self.computed:
            result.standing.discard(result.ready, connection)


@dataclass(frozen=True, slots=True)
class Published:
    """What has come of the results of a publication; those that failed, with why if that is known."""

    done: Sequence[Computed]
    failed: Sequence[tuple[Computed, Exception | None]]


def publish(connection: Connection, epoch: int, computed: Sequence[Computed]) -> Published:
    """Whoever cannot be published is left out; a commit whose outcome is unknown leaves all files."""
    done: list[Computed] = []
    failed: list[tuple[Computed, Exception | None]] = []
    with connection.transaction():
        hold_epoch(connection, epoch)
        for result in computed:
            try:
                with connection.transaction():
                    if _publish_one(connection, result):
                        done.append(result)
                    else:
                        failed.append((result, None))
            except Exception as error:
                if ends_all(error, connection):
                    raise
                failed.append((result, error))
        failpoint("publish: before commit")
    failpoint("publish: committed")
    return Published(done, failed)


def _publish_one(connection: Connection, computed: Computed) -> bool:
    query, waiting, ready = computed.due.query, computed.waiting, computed.ready
    if not computed.standing.publish(connection, query, ready, waiting.moment, waiting.clock):
        return False
    finish_refreshes(connection, query.id, ready.position)
    return True
