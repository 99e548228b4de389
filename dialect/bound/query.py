"""A query with every name resolved and every expression typed as PostgreSQL types it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from catalog.postgres.schema import TableName
from catalog.postgres.types import SqlType
from dialect.bound.expression import Expression, SortKey


class JoinKind(Enum):
    """Which rows without a partner a join keeps; a cross join is an inner one without a condition."""

    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"


class SetKind(Enum):
    """The set operations."""

    UNION = "union"
    INTERSECT = "intersect"
    EXCEPT = "except"


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """A column of a relation: its name and type."""

    name: str
    type: SqlType


@dataclass(frozen=True, slots=True)
class Scan:
    """A table as source number `source` of its query, with those of its columns that stand at `places`."""

    source: int
    table: TableName
    alias: str
    columns: tuple[OutputColumn, ...]
    places: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CommonTableScan:
    """A WITH query of the query `level` levels up, by its number there."""

    source: int
    level: int
    common_table: int
    alias: str
    columns: tuple[OutputColumn, ...]


@dataclass(frozen=True, slots=True)
class Derived:
    """A subquery in FROM; only a lateral one sees the sources before it."""

    source: int
    query: Query
    lateral: bool
    alias: str
    columns: tuple[OutputColumn, ...]


@dataclass(frozen=True, slots=True)
class Join:
    """Pairs that satisfy the condition; USING and NATURAL are bound as equalities."""

    kind: JoinKind
    left: FromItem
    right: FromItem
    condition: Expression | None


FromItem: TypeAlias = Scan | CommonTableScan | Derived | Join


@dataclass(frozen=True, slots=True)
class Target:
    """An expression of a SELECT list with its name."""

    name: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class Select:
    """One SELECT: its FROM items are crossed.

    `grouped` is true also where an aggregate makes one group without GROUP BY; `distinct_on` is empty for
    plain DISTINCT.
    """

    sources: tuple[FromItem, ...]
    condition: Expression | None
    grouped: bool
    group: tuple[Expression, ...]
    having: Expression | None
    targets: tuple[Target, ...]
    distinct: bool
    distinct_on: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class SetOperation:
    """Both inputs' rows, whose types are those of `columns`; `all` keeps duplicates."""

    kind: SetKind
    all: bool
    left: Query
    right: Query
    columns: tuple[OutputColumn, ...]


@dataclass(frozen=True, slots=True)
class Values:
    """Rows written out; every value has its column's type."""

    rows: tuple[tuple[Expression, ...], ...]
    columns: tuple[OutputColumn, ...]


Body: TypeAlias = Select | SetOperation | Values


@dataclass(frozen=True, slots=True)
class CommonTable:
    """A WITH query; `materialized` is None where PostgreSQL may choose."""

    name: str
    query: Query
    materialized: bool | None


@dataclass(frozen=True, slots=True)
class Query:
    """A body with what surrounds it; the order's expressions stand in the body's scope."""

    common_tables: tuple[CommonTable, ...]
    body: Body
    order: tuple[SortKey, ...]
    limit: Expression | None
    offset: Expression | None
    columns: tuple[OutputColumn, ...]
