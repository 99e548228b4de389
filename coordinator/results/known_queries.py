"""The planned standing queries of a database, each with its latest plan."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection, Iterable
from uuid import UUID

from psycopg import AsyncConnection, Connection

from catalog.postgres.signatures import Signatures
from catalog.postgres.signatures_reader import read_signatures
from catalog.queries.running import Running, is_wanted
from coordinator.firing.engine import EngineThread
from coordinator.results.query import StandingQuery
from sources.warehouse.site import CaptureSite


class KnownQueries:
    """Plans queries when they are first asked for, and again when they have changed."""

    def __init__(self, site: CaptureSite, engine: EngineThread, stop: threading.Event) -> None:
        self._site = site
        self._engine = engine
        self._stop = stop
        self._known: dict[UUID, StandingQuery] = {}
        self._signatures: Signatures | None = None

    def get(self, connection: Connection, query: Running) -> StandingQuery:
        """The query with its plan."""
        known = self._known.get(query.id)
        if known is None or not known.is_planned_for(connection, query):
            known = StandingQuery.plan(connection, self._site, self._engine, query, self._types())
            self._known[query.id] = known
        return known

    def foresee(self, engines: Iterable[str]) -> None:
        """Firings on these engines will be asked for soon."""
        self._engine.foresee(frozenset(engines))

    def is_current(self, standing: StandingQuery) -> bool:
        """Whether this is the query's latest plan; a later one may have begun to compute from scratch."""
        return self._known.get(standing.query.id) is standing

    def forget(self, queries: Collection[UUID]) -> None:
        """Forget the plans of these queries."""
        for id in queries:
            self._known.pop(id, None)

    def clear(self) -> None:
        """Forget all plans, because their offsets have changed."""
        self._known.clear()

    def until_changed(self, connection: Connection, query: Running) -> Callable[[], bool]:
        """A function that tells whether the query is unchanged, so that its result is still wanted."""
        return lambda: not self._stop.is_set() and is_wanted(connection, query)

    def _types(self) -> Signatures:
        if self._signatures is None:
            self._signatures = asyncio.run(_read_signatures(self._site.address))
        return self._signatures


async def _read_signatures(address: str) -> Signatures:
    async with await AsyncConnection.connect(address) as connection:
        return await read_signatures(connection)
