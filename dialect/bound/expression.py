"""Expressions with every name resolved and every type as PostgreSQL's."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from catalog.postgres.types import SqlType

if TYPE_CHECKING:
    from dialect.bound.query import Query


class Truth(Enum):
    """What IS TRUE and IS FALSE ask for."""

    TRUE = "true"
    FALSE = "false"


class Quantifier(Enum):
    """How many of the values a comparison must hold for."""

    ANY = "any"
    ALL = "all"


class CastMethod(Enum):
    """How a value gets its new type."""

    FUNCTION = "function"
    RELABEL = "relabel"
    TEXT = "text"
    ELEMENTS = "elements"
    LENGTH = "length"


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
class Constant:
    """A literal: the text PostgreSQL's input function reads, or None for NULL."""

    text: str | None
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
class Cast:
    """A change of type, by `function` where there is one, else 0; LENGTH applies a modifier within a type."""

    argument: Expression
    method: CastMethod
    function: int
    type: SqlType


@dataclass(frozen=True, slots=True)
class Collate:
    """COLLATE: the argument under another collation."""

    argument: Expression
    type: SqlType


@dataclass(frozen=True, slots=True)
class And:
    """True if all are; n-ary and never nested in itself."""

    arguments: tuple[Expression, ...]
    type: SqlType


@dataclass(frozen=True, slots=True)
class Or:
    """True if one is; n-ary and never nested in itself."""

    arguments: tuple[Expression, ...]
    type: SqlType


@dataclass(frozen=True, slots=True)
class Not:
    """Negation in three-valued logic."""

    argument: Expression
    type: SqlType


@dataclass(frozen=True, slots=True)
class NullTest:
    """IS [NOT] NULL."""

    argument: Expression
    negated: bool
    type: SqlType


@dataclass(frozen=True, slots=True)
class BooleanTest:
    """IS TRUE or IS FALSE: never NULL."""

    argument: Expression
    truth: Truth
    type: SqlType


@dataclass(frozen=True, slots=True)
class Distinct:
    """IS [NOT] DISTINCT FROM, by the type's equality operator."""

    equality: Operator
    negated: bool
    type: SqlType


@dataclass(frozen=True, slots=True)
class Branch:
    """One WHEN of a CASE."""

    condition: Expression
    result: Expression


@dataclass(frozen=True, slots=True)
class Case:
    """CASE, that with an operand as comparisons; `default` is a NULL constant where there is no ELSE."""

    branches: tuple[Branch, ...]
    default: Expression
    type: SqlType


@dataclass(frozen=True, slots=True)
class Coalesce:
    """The first argument that is not NULL."""

    arguments: tuple[Expression, ...]
    type: SqlType


@dataclass(frozen=True, slots=True)
class NullIf:
    """NULL where the equality holds, else its first argument."""

    equality: Operator
    type: SqlType


@dataclass(frozen=True, slots=True)
class Extreme:
    """GREATEST or LEAST of the arguments that are not NULL, by the type's default order under `collation`."""

    greatest: bool
    arguments: tuple[Expression, ...]
    collation: int
    type: SqlType


@dataclass(frozen=True, slots=True)
class Array:
    """ARRAY[...]; of more than one dimension where the elements are arrays of the same type."""

    elements: tuple[Expression, ...]
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
class ArrayComparison:
    """`x op ANY (array)`, also IN (list): `operator` compares x with a stand-in for the element, Element."""

    quantifier: Quantifier
    operator: Operator
    array: Expression
    type: SqlType


@dataclass(frozen=True, slots=True)
class Element:
    """What a quantified comparison compares with: the array's element, or the subquery's column."""

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
    """`x op ANY (query)`, also IN (query): all `comparisons` hold, each with an Element on its right."""

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


Expression: TypeAlias = (
    Column
    | Output
    | Constant
    | SqlValue
    | Operator
    | Function
    | Cast
    | Collate
    | And
    | Or
    | Not
    | NullTest
    | BooleanTest
    | Distinct
    | Case
    | Coalesce
    | NullIf
    | Extreme
    | Array
    | Subscript
    | Row
    | RowComparison
    | ArrayComparison
    | Element
    | ScalarSubquery
    | Exists
    | QuantifiedSubquery
    | ArraySubquery
    | Aggregate
    | Window
)
