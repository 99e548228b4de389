"""A standing query as its plan: read from the database, bound, planned."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from psycopg import Connection

from catalog.description import table_from, view_from, with_types
from catalog.schema import Table
from catalog.signatures import Signatures
from catalog.types import C_COLLATIONS, DEFAULT_COLLATION
from dialect.bind import bind
from dialect.bound import Query
from dialect.spark import Environment
from planner.delta_method import Method
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
    """The SELECT of a hidden view as it stands now."""
    row = connection.execute(_QUESTION, (view,)).fetchone()
    assert row is not None
    asked: dict[str, Any] = row[0]
    known = with_types(signatures, asked["types"])
    views = {each["oid"]: view_from(each) for each in asked["views"]}
    tables = {each.name: each for each in map(table_from, asked["tables"])}
    own = views[asked["view"]]
    query = bind(own.text, tables, known, own.columns, {each.name: each for each in views.values()})
    collations = C_COLLATIONS | ({DEFAULT_COLLATION} if asked["binary"] else frozenset())
    return Bound(query, tuple(tables.values()), Environment(known.types, collations))


def plan_bound(bound: Bound, statistics: Statistics, methods: tuple[Method, ...]) -> Planned:
    """The plan by which it is worked; the same for the same statistics and methods."""
    tables = {each.name: each for each in bound.tables}
    return plan(bound.query, tables, statistics, methods=methods, environment=bound.environment)


def digest_of(planned: Planned) -> str:
    """Fingerprint of what is kept and how: of another one nothing can be used."""
    return hashlib.sha256(repr((planned.delta, planned.values)).encode()).hexdigest()
