"""What a query means: a closed algebra over bags of rows.

The nodes are generic in their inputs. A `Plan` is made of nodes over plans; a `DependentPlan`, which
translation gives and unnesting takes, may have dependent joins anywhere.

Every column has a number that is unique in its plan: nothing is renamed when nodes move, and a correlated
subquery is simply one whose free columns are not empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Generic, TypeAlias, assert_never

from catalog.postgres.schema import TableName
from catalog.postgres.types import SqlType
from dialect.expressions.scalar import Scalar

if TYPE_CHECKING:
    # Defaults of type variables come with Python 3.13; until then the type checker alone knows them.
    from typing_extensions import TypeVar

    InputT = TypeVar("InputT", covariant=True, default="Plan")
else:
    from typing import TypeVar

    InputT = TypeVar("InputT")

PlanT = TypeVar("PlanT", "Plan", "DependentPlan")


@dataclass(frozen=True, slots=True)
class Field:
    """A column of the plan: its number, the name it is shown by, its type."""

    column: int
    name: str
    type: SqlType


class JoinKind(Enum):
    """Which rows a join gives: pairs, and the unmatched of the sides named; SEMI and ANTI: left rows only."""

    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"
    SEMI = "semi"
    ANTI = "anti"


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a table under its number in the plan; `attribute` is its number in the table."""

    field: Field
    attribute: int


@dataclass(frozen=True, slots=True)
class Scan:
    """The rows of a table, by the columns that are used."""

    table: TableName
    alias: str
    columns: tuple[TableColumn, ...]


@dataclass(frozen=True, slots=True)
class Values:
    """Rows written out; every value is free of columns."""

    rows: tuple[tuple[Scalar, ...], ...]
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Filter(Generic[InputT]):
    """The rows for which the condition is true, not false and not NULL."""

    input: InputT
    condition: Scalar


@dataclass(frozen=True, slots=True)
class Computed:
    """A column that an expression gives."""

    field: Field
    value: Scalar


@dataclass(frozen=True, slots=True)
class Project(Generic[InputT]):
    """For each row the columns computed from it; one that passes unchanged keeps its number."""

    input: InputT
    columns: tuple[Computed, ...]


@dataclass(frozen=True, slots=True)
class Join(Generic[InputT]):
    """Pairs for which the condition is true, and by `kind` the rows without a partner, padded with NULL."""

    kind: JoinKind
    left: InputT
    right: InputT
    condition: Scalar


@dataclass(frozen=True, slots=True)
class DependentJoin(Generic[InputT]):
    """For each left row the right side under that row's columns.

    INNER, LEFT, SEMI and ANTI only.
    """

    kind: JoinKind
    left: InputT
    right: InputT
    condition: Scalar


@dataclass(frozen=True, slots=True)
class Order:
    """One key of an order, by the type's default order under the expression's collation.

    A key that only `breaks_ties` was not asked for: any order of it will do, if it is the same each time.
    """

    value: Scalar
    descending: bool
    nulls_first: bool
    breaks_ties: bool = False


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """An aggregate of pg_proc over the rows of a group for which `condition` is true, or over all of them.

    count(*) has no arguments. SINGLE is ours, for scalar subqueries: the only value, NULL where there is
    no row, error 21000 where there are more.
    """

    function: int
    name: str
    arguments: tuple[Scalar, ...]
    type: SqlType
    distinct: bool = False
    order: tuple[Order, ...] = ()
    condition: Scalar | None = None
    collation: int = 0


SINGLE = 0
"""`AggregateCall.function` of the value of a scalar subquery."""


@dataclass(frozen=True, slots=True)
class Aggregated:
    """A column that an aggregate gives."""

    field: Field
    call: AggregateCall


@dataclass(frozen=True, slots=True)
class Aggregate(Generic[InputT]):
    """A row for each group: its keys (columns of the input, same numbers), then the aggregated columns.

    Keys are equal where they are not distinct. Without keys there is exactly one group, also over no rows.
    """

    input: InputT
    keys: tuple[Field, ...]
    columns: tuple[Aggregated, ...]


@dataclass(frozen=True, slots=True)
class Distinct(Generic[InputT]):
    """Each row once."""

    input: InputT


@dataclass(frozen=True, slots=True)
class Union(Generic[InputT]):
    """All rows of all inputs, as often as they come: the n-th column of each becomes the n-th field."""

    inputs: tuple[InputT, ...]
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Top(Generic[InputT]):
    """The first `limit` rows after `offset` in the order, which is total but for equal rows; None: all."""

    input: InputT
    order: tuple[Order, ...]
    limit: int | None
    offset: int


Node: TypeAlias = (
    Scan
    | Values
    | Filter[InputT]
    | Project[InputT]
    | Join[InputT]
    | Aggregate[InputT]
    | Distinct[InputT]
    | Union[InputT]
    | Top[InputT]
)
Plan: TypeAlias = "Node[Plan]"
DependentPlan: TypeAlias = "Node[DependentPlan] | DependentJoin[DependentPlan]"


@dataclass(frozen=True, slots=True)
class Output:
    """A column of the result: its name, and the column of the plan."""

    name: str
    column: int


@dataclass(frozen=True, slots=True)
class LogicalQuery(Generic[InputT]):
    """A plan, and those of its columns that are the result, in their order."""

    plan: InputT
    outputs: tuple[Output, ...]


def fields(plan: DependentPlan) -> tuple[Field, ...]:
    """The columns of each row that the plan gives."""
    match plan:
        case Scan(columns=columns):
            return tuple(column.field for column in columns)
        case Values(fields=fields_) | Union(fields=fields_):
            return fields_
        case Filter(input=child) | Distinct(input=child) | Top(input=child):
            return fields(child)
        case Project(columns=computed):
            return tuple(column.field for column in computed)
        case Join(kind=kind, left=left, right=right) | DependentJoin(kind=kind, left=left, right=right):
            return fields(left) if kind in (JoinKind.SEMI, JoinKind.ANTI) else fields(left) + fields(right)
        case Aggregate(keys=keys, columns=aggregated):
            return keys + tuple(column.field for column in aggregated)
        case _:
            assert_never(plan)
