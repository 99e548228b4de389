"""The one way from a SELECT to its plan: described by its database, bound, planned, taken on by an engine.

The check at CREATE, EXPLAIN and the first run all use it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from psycopg import Connection

from catalog.errors import ConcurrentChange
from catalog.postgres.description import Described, with_types
from catalog.postgres.description_reader import read_described
from catalog.postgres.schema import Table
from catalog.postgres.signatures import Signatures
from catalog.postgres.storage import LAYOUT
from catalog.postgres.types import C_COLLATIONS, DEFAULT_COLLATION
from dialect.binding.bind import bind
from dialect.bound.query import Query
from dialect.expressions.environment import Environment
from dialect.expressions.postgres import write
from executors.executor import Engine
from executors.rows import Schema, name_of
from planner.algebra.columns import references
from planner.algebra.statistics import Statistics
from planner.delta.fingerprint import fingerprint
from planner.delta.methods import Method
from planner.plan import Planned, plan


@dataclass(frozen=True, slots=True)
class Bound:
    """A query with every name settled, its tables, and what its expressions leave to the database.

    `collations`: how PostgreSQL writes those that the query may name.
    """

    query: Query
    tables: tuple[Table, ...]
    environment: Environment
    collations: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class Maintainable:
    """A query that an engine can maintain: its plan, how its buffers are stored, and its output columns as
    PostgreSQL computes them from those of the last buffer."""

    planned: Planned
    schemas: Mapping[int, Schema]
    outputs: tuple[str, ...]

    @property
    def fingerprint(self) -> str:
        """The fingerprint of what is computed and stored; what has another one cannot be used."""
        return fingerprint(self.planned.delta, self.planned.values, LAYOUT)


def bind_described(described: Described, signatures: Signatures) -> Bound:
    """Settle every name of the query; the signatures are those of the server alone."""
    known = with_types(signatures, described.types)
    view = described.view
    query = bind(view.text, described.tables, known, view.columns, described.views)
    binary = C_COLLATIONS | ({DEFAULT_COLLATION} if described.binary else frozenset())
    environment = Environment(known.types, binary, known.has_infinite_intervals)
    collations = {collation.oid: collation.written for collation in known.collations.values()}
    tables = tuple(described.tables.values())
    return Bound(query, tables, environment, {**collations, **described.collations})


def bind_view(connection: Connection, view: int, signatures: Signatures) -> Bound:
    """The SELECT of a hidden view as it is now; ConcurrentChange if a part of it was dropped."""
    described = read_described(connection, view)
    if described is None:
        raise ConcurrentChange("the standing query, or a relation that it reads, was dropped")
    return bind_described(described, signatures)


@dataclass(frozen=True, slots=True)
class KeptPlan:
    """The plan that a query is computed by: its fingerprint, and the statistics it was made with."""

    fingerprint: str
    statistics: Statistics


def plan_as_kept(
    engine: Engine, bound: Bound, kept: KeptPlan | None, methods: tuple[Method, ...]
) -> Maintainable | None:
    """The plan that the query is computed by, if planning gives it again."""
    if kept is None:
        return None
    maintainable = plan_bound(engine, bound, kept.statistics, methods)
    return maintainable if maintainable.fingerprint == kept.fingerprint else None


def plan_bound(
    engine: Engine, bound: Bound, statistics: Statistics, methods: tuple[Method, ...]
) -> Maintainable:
    """The plan of the query, the same for the same statistics and methods; or a refusal."""
    tables = {table.name: table for table in bound.tables}
    planned = plan(bound.query, tables, statistics, methods=methods, environment=bound.environment)
    return taken_on(engine, bound, planned)


def taken_on(engine: Engine, bound: Bound, planned: Planned) -> Maintainable:
    """The plan with what the engine computes and what PostgreSQL does; or a refusal."""
    schemas = engine.schemas(planned.delta, bound.environment)
    names = {column: name_of(column) for column in references(*planned.values)}
    outputs = tuple(write(value, names, bound.collations) for value in planned.values)
    return Maintainable(planned, schemas, outputs)
