"""Publishes results in one transaction."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from psycopg import Connection

from catalog.capture.store import held_epoch
from catalog.failpoints import failpoint
from catalog.queries.running import Running
from catalog.queries.telling import finish_refreshes
from coordinator.decide.actions import Waiting
from coordinator.results.computed_changes import ComputedChanges
from coordinator.results.failing import ends_all
from coordinator.results.query import StandingQuery


@dataclass(frozen=True, slots=True)
class Result:
    """A result that is computed and not yet published."""

    query: Running
    standing: StandingQuery
    computed: ComputedChanges


def publish(
    connection: Connection, epoch: int, results: Sequence[Result], waiting: Mapping[UUID, Waiting]
) -> tuple[dict[UUID, Exception | None], list[str]]:
    """The queries that could not be published, and why: None for one that has changed; and garbage.

    The garbage are the files that the others took the place of. If the outcome of the commit is unknown, this
    raises an error, and all files are kept.
    """
    errors: dict[UUID, Exception | None] = {}
    garbage: list[str] = []
    with held_epoch(connection, epoch):
        for result in results:
            try:
                with connection.transaction():
                    replaced = _publish_one(connection, result, waiting[result.query.id])
            except Exception as error:
                if ends_all(error, connection):
                    raise
                errors[result.query.id] = error
            else:
                if replaced is None:
                    errors[result.query.id] = None
                else:
                    garbage.extend(replaced)
        failpoint("publish: before commit")
    failpoint("publish: committed")
    return errors, garbage


def _publish_one(connection: Connection, result: Result, waiting: Waiting) -> Collection[str] | None:
    query, computed = result.query, result.computed
    replaced = result.standing.publish(connection, query, computed, waiting.moment, waiting.since)
    if replaced is not None:
        finish_refreshes(connection, query.id, computed.position)
    return replaced
