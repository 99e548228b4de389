"""A standing query as its plan: read from the database, bound, planned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from psycopg import Connection

from catalog.description import table_from, view_from, with_types
from catalog.errors import ConcurrentChange
from catalog.schema import Table
from catalog.signatures import Signatures
from catalog.storage import LAYOUT
from catalog.types import C_COLLATIONS, DEFAULT_COLLATION
from dialect.bind import bind
from dialect.bound import Query
from dialect.spark import Environment
from planner.delta_method import Method
from planner.fingerprint import fingerprint
from planner.plan import Planned, plan
from planner.statistics import Statistics

_QUESTION = "SELECT gavial.question(%s, '{}')"


@dataclass(frozen=True, slots=True)
class Bound:
    """A query with every name settled, its tables, and what its expressions leave to the database."""

    query: Query
    tables: tuple[Table, ...]
    environment: Environment


def bind_view(connection: Connection, view: int, signatures: Signatures) -> Bound:
    """The SELECT of a hidden view as it stands now; ConcurrentChange where a part of it was dropped."""
    row = connection.execute(_QUESTION, (view,)).fetchone()
    assert row is not None
    asked: dict[str, Any] = row[0]
    if not _is_whole(asked):
        raise ConcurrentChange("the standing query, or a relation that it reads, was dropped")
    known = with_types(signatures, asked["types"])
    views = {described["oid"]: view_from(described) for described in asked["views"]}
    tables = {table.name: table for table in map(table_from, asked["tables"])}
    bound_view = views[asked["view"]]
    query = bind(
        bound_view.text, tables, known, bound_view.columns, {view.name: view for view in views.values()}
    )
    collations = C_COLLATIONS | ({DEFAULT_COLLATION} if asked["binary"] else frozenset())
    return Bound(query, tuple(tables.values()), Environment(known.types, collations))


def _is_whole(asked: dict[str, Any]) -> bool:
    """Whether everything that the question is about was there while it was put together.

    What describes a relation is looked up later than the snapshot from which the list of relations comes.
    """
    views, tables = asked["views"] or (), asked["tables"]
    views_are_there = all(view is not None and view["text"] is not None for view in views)
    view_is_there = views_are_there and any(view["oid"] == asked["view"] for view in views)
    return view_is_there and all(table is not None for table in tables)


def plan_bound(bound: Bound, statistics: Statistics, methods: tuple[Method, ...]) -> Planned:
    """The plan by which it is worked; the same for the same statistics and methods."""
    tables = {table.name: table for table in bound.tables}
    return plan(bound.query, tables, statistics, methods=methods, environment=bound.environment)


def fingerprint_of(planned: Planned) -> str:
    """Fingerprint of what is kept and how: of another one nothing can be used."""
    return fingerprint(planned.delta, planned.values, LAYOUT)
