"""Publishes results in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from psycopg import Connection

from catalog.capture.store import held_epoch
from catalog.failpoints import failpoint
from catalog.queries.running import Running
from catalog.queries.telling import finish_refreshes
from coordinator.decide.actions import Waiting
from coordinator.results.failing import ends_all
from coordinator.results.query import ComputedChanges, StandingQuery


@dataclass(frozen=True, slots=True)
class Result:
    """A result that is computed and not yet published."""

    query: Running
    standing: StandingQuery
    computed: ComputedChanges


def publish(
    connection: Connection, epoch: int, results: Sequence[Result], waiting: Mapping[UUID, Waiting]
) -> dict[UUID, Exception | None]:
    """The queries that could not be published, and why; None for one that has changed.

    If the outcome of the commit is unknown, all files are kept.
    """
    errors: dict[UUID, Exception | None] = {}
    with held_epoch(connection, epoch):
        for result in results:
            try:
                with connection.transaction():
                    if not _publish_one(connection, result, waiting[result.query.id]):
                        errors[result.query.id] = None
            except Exception as error:
                if ends_all(error, connection):
                    raise
                errors[result.query.id] = error
        failpoint("publish: before commit")
    failpoint("publish: committed")
    return errors


def _publish_one(connection: Connection, result: Result, waiting: Waiting) -> bool:
    query, computed = result.query, result.computed
    if not result.standing.publish(connection, query, computed, waiting.moment, waiting.since):
        return False
    finish_refreshes(connection, query.id, computed.position)
    return True
