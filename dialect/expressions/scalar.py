"""What computes one value from a row's columns: expressions without subqueries, aggregates or names.

The planner's plans are made of these, and `dialect/spark/expressions.py` writes them. A column is a number,
unique in a plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from catalog.postgres.types import BOOLEAN, SqlType
from dialect.bound.expression import CastMethod, Quantifier, Truth

__all__ = ["CastMethod", "Quantifier", "Truth"]


@dataclass(frozen=True, slots=True)
class Reference:
    """A column of the plan."""

    column: int
    type: SqlType


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal: the text PostgreSQL's input function reads, or None for NULL."""

    text: str | None
    type: SqlType


class Notation(Enum):
    """How a call is written."""

    OPERATOR = "operator"
    FUNCTION = "function"


@dataclass(frozen=True, slots=True)
class Call:
    """A function by its oid, also behind an operator; `collation` is the one it compares by, or 0."""

    function: int
    name: str
    notation: Notation
    arguments: tuple[Scalar, ...]
    collation: int
    type: SqlType


SHOWN = -1
"""`Call.function` of round(numeric, int4) where there are no more digits than that: it rounds nothing."""

BEYOND = -2
"""The oid of beyond(numeric): the number if it is too long to be summed as a decimal, else NULL."""

LONG_SUM = -3
"""The oid of long_sum(numeric, numeric[]): a sum and more numbers, however long, without zeros at its end."""

OWN_FUNCTIONS = frozenset((SHOWN, BEYOND, LONG_SUM))
"""What plans call and PostgreSQL does not have."""


@dataclass(frozen=True, slots=True)
class Cast:
    """A change of type, by `function` where there is one, else 0; RELABEL also changes a collation."""

    argument: Scalar
    method: CastMethod
    function: int
    type: SqlType


@dataclass(frozen=True, slots=True)
class And:
    """True if all are; n-ary and never nested in itself; of no arguments: true."""

    arguments: tuple[Scalar, ...]
    type: SqlType = BOOLEAN


@dataclass(frozen=True, slots=True)
class Or:
    """True if one is; n-ary and never nested in itself; of no arguments: false."""

    arguments: tuple[Scalar, ...]
    type: SqlType = BOOLEAN


@dataclass(frozen=True, slots=True)
class Not:
    """Negation in three-valued logic."""

    argument: Scalar
    type: SqlType = BOOLEAN


@dataclass(frozen=True, slots=True)
class IsNull:
    """IS NULL: never NULL itself."""

    argument: Scalar
    type: SqlType = BOOLEAN


@dataclass(frozen=True, slots=True)
class IsTruth:
    """IS TRUE or IS FALSE: never NULL."""

    argument: Scalar
    truth: Truth
    type: SqlType = BOOLEAN


@dataclass(frozen=True, slots=True)
class IsDistinct:
    """IS DISTINCT FROM, by the type's equality: never NULL."""

    equality: Call
    type: SqlType = BOOLEAN


@dataclass(frozen=True, slots=True)
class Branch:
    """One WHEN of a CASE."""

    condition: Scalar
    result: Scalar


@dataclass(frozen=True, slots=True)
class Case:
    """The result of the first branch whose condition is true."""

    branches: tuple[Branch, ...]
    default: Scalar
    type: SqlType


@dataclass(frozen=True, slots=True)
class Coalesce:
    """The first argument that is not NULL."""

    arguments: tuple[Scalar, ...]
    type: SqlType


@dataclass(frozen=True, slots=True)
class NullIf:
    """NULL where the equality holds, else its first argument."""

    equality: Call
    type: SqlType


@dataclass(frozen=True, slots=True)
class Extreme:
    """GREATEST or LEAST of the arguments that are not NULL, by the type's default order under `collation`."""

    greatest: bool
    arguments: tuple[Scalar, ...]
    collation: int
    type: SqlType


@dataclass(frozen=True, slots=True)
class Array:
    """ARRAY[...] of one dimension."""

    elements: tuple[Scalar, ...]
    type: SqlType


@dataclass(frozen=True, slots=True)
class Element:
    """The element of the array that a quantified comparison looks at."""

    type: SqlType


@dataclass(frozen=True, slots=True)
class ArrayComparison:
    """`x op ANY (array)`, also IN (list): `comparison` has an Element in it for the array's element."""

    quantifier: Quantifier
    comparison: Call
    array: Scalar
    type: SqlType = BOOLEAN


Scalar: TypeAlias = (
    Reference
    | Constant
    | Call
    | Cast
    | And
    | Or
    | Not
    | IsNull
    | IsTruth
    | IsDistinct
    | Case
    | Coalesce
    | NullIf
    | Extreme
    | Array
    | Element
    | ArrayComparison
)
