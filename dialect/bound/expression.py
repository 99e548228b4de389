"""Expressions with every name resolved and every type as PostgreSQL's.

To what scalars are made of come columns by their place, operators and functions as PostgreSQL knows them,
subqueries, aggregates and windows, and what no plan can have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from catalog.postgres.types import SqlType
from dialect.expressions.scalar import Composed, Quantifier

if TYPE_CHECKING:
    from dialect.bound.query import Query


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the source numbered `source` in the query `level` levels up (0: the one this stands in)."""

    level: int
    source: int
    column: int
    name: str
    type: SqlType


@dataclass(frozen=True, slots=True)
class Output:
    """A column of the set operation's own result, in its ORDER BY."""

    column: int
    type: SqlType


@dataclass(frozen=True, slots=True)
class SqlValue:
    """A value that SQL writes without brackets, such as CURRENT_DATE; `name` is in lower case."""

    name: str
    type: SqlType


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator on one argument (prefix) or two; `collation` is the one it compares by, 0 where none."""

    oid: int
    function: int
    name: str
    arguments: tuple[Expression, ...]
    collation: int
    type: SqlType


@dataclass(frozen=True, slots=True)
class Function:
    """A call; `variadic` says that the last argument is the array of the further arguments."""

    oid: int
    name: str
    arguments: tuple[Expression, ...]
    variadic: bool
    collation: int
    type: SqlType


@dataclass(frozen=True, slots=True)
class Collate:
    """COLLATE: the argument under another collation."""

    argument: Expression
    type: SqlType


@dataclass(frozen=True, slots=True)
class Subscript:
    """An element of an array, by one index (int4) for each dimension."""

    array: Expression
    indexes: tuple[Expression, ...]
    type: SqlType


@dataclass(frozen=True, slots=True)
class Row:
    """ROW(...), where a row is an argument: count(DISTINCT (a, b))."""

    fields: tuple[Expression, ...]
    type: SqlType


@dataclass(frozen=True, slots=True)
class RowComparison:
    """Rows in lexicographic order: the first pair that is unequal decides, by its operator of that name."""

    name: str
    pairs: tuple[Operator, ...]
    type: SqlType


@dataclass(frozen=True, slots=True)
class SubqueryColumn:
    """The column of the subquery that a quantified comparison compares with."""

    column: int
    type: SqlType


@dataclass(frozen=True, slots=True)
class ScalarSubquery:
    """The only column of the only row, NULL where there is none; more rows are an error."""

    query: Query
    type: SqlType


@dataclass(frozen=True, slots=True)
class Exists:
    """Whether there is a row."""

    query: Query
    type: SqlType


@dataclass(frozen=True, slots=True)
class QuantifiedSubquery:
    """`x op ANY (query)`, also IN (query): all `comparisons` hold, with its columns on their right."""

    quantifier: Quantifier
    comparisons: tuple[Operator, ...]
    query: Query
    type: SqlType


@dataclass(frozen=True, slots=True)
class ArraySubquery:
    """ARRAY(query): its only column in its order."""

    query: Query
    type: SqlType


@dataclass(frozen=True, slots=True)
class SortKey:
    """One key of an order, by the type's default operators under the expression's collation."""

    expression: Expression
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate of the query `level` levels up; count(*) has no arguments.

    The columns in it count their levels from where it stands, as everywhere.
    """

    oid: int
    name: str
    arguments: tuple[Expression, ...]
    distinct: bool
    order: tuple[SortKey, ...]
    condition: Expression | None
    level: int
    collation: int
    type: SqlType


@dataclass(frozen=True, slots=True)
class FrameBound:
    """An end of a frame; `offset` is None for UNBOUNDED and for CURRENT ROW."""

    side: str
    offset: Expression | None


@dataclass(frozen=True, slots=True)
class Frame:
    """The rows around the current one that a window function sees."""

    unit: str
    start: FrameBound
    end: FrameBound
    exclude: str | None


@dataclass(frozen=True, slots=True)
class Window:
    """A window function, or an aggregate as one, over its partition; `frame` is None for the default."""

    call: Function | Aggregate
    partition: tuple[Expression, ...]
    order: tuple[SortKey, ...]
    frame: Frame | None
    type: SqlType


_Named: TypeAlias = (
    Column
    | Output
    | SqlValue
    | Operator
    | Function
    | Collate
    | Subscript
    | Row
    | RowComparison
    | SubqueryColumn
    | ScalarSubquery
    | Exists
    | QuantifiedSubquery
    | ArraySubquery
    | Aggregate
    | Window
)
Expression: TypeAlias = "_Named | Composed[Expression, Operator]"
