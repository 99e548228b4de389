"""What computes one value from a row's columns: expressions without subqueries, aggregates or names.

The planner's plans are made of these, and `dialect/spark/expressions.py` writes them. A column is a number,
unique in a plan. The classes are generic in what they are made of: `Scalar` is made of scalars, and an
`Expression` of `dialect/bound/expression.py`, which has names and subqueries as well, of expressions.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Generic, TypeAlias

from catalog.postgres.types import BOOLEAN, SqlType

if TYPE_CHECKING:
    # Defaults of type variables come with Python 3.13; until then the type checker alone knows them.
    from typing_extensions import TypeVar

    PartT = TypeVar("PartT", covariant=True, default="Scalar")
    CallT = TypeVar("CallT", covariant=True, default="Call")
else:
    from typing import TypeVar

    PartT = TypeVar("PartT")
    CallT = TypeVar("CallT")


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

MOST_BEFORE = 12
"""A number of more digits before the point is not summed as a decimal: sums must not pass 38 digits."""

LONG_SUM = -3
"""The oid of long_sum(numeric, numeric[]): a sum and more numbers, however long, without zeros at its end."""

LONG_ADD, LONG_SUBTRACT, LONG_MULTIPLY = -4, -5, -6
LONG_ARITHMETIC = frozenset((LONG_ADD, LONG_SUBTRACT, LONG_MULTIPLY))
"""The operators +, - and * of numerics in a plan whose numbers may have more digits than a decimal holds."""

OWN_FUNCTIONS = frozenset((SHOWN, BEYOND, LONG_SUM, *LONG_ARITHMETIC))
"""What plans call and PostgreSQL does not have by that oid."""


@dataclass(frozen=True, slots=True)
class Cast(Generic[PartT]):
    """A change of type, by `function` where there is one, else 0; RELABEL also changes a collation."""

    argument: PartT
    method: CastMethod
    function: int
    type: SqlType


@dataclass(frozen=True, slots=True)
class And(Generic[PartT]):
    """True if all are; n-ary and never nested in itself; of no arguments: true."""

    arguments: tuple[PartT, ...]
    type: SqlType = BOOLEAN


@dataclass(frozen=True, slots=True)
class Or(Generic[PartT]):
    """True if one is; n-ary and never nested in itself; of no arguments: false."""

    arguments: tuple[PartT, ...]
    type: SqlType = BOOLEAN


@dataclass(frozen=True, slots=True)
class Not(Generic[PartT]):
    """Negation in three-valued logic."""

    argument: PartT
    type: SqlType = BOOLEAN


@dataclass(frozen=True, slots=True)
class IsNull(Generic[PartT]):
    """IS NULL: never NULL itself."""

    argument: PartT
    type: SqlType = BOOLEAN


@dataclass(frozen=True, slots=True)
class IsTruth(Generic[PartT]):
    """IS TRUE or IS FALSE: never NULL."""

    argument: PartT
    truth: Truth
    type: SqlType = BOOLEAN


@dataclass(frozen=True, slots=True)
class IsDistinct(Generic[CallT]):
    """IS DISTINCT FROM, by the type's equality: never NULL."""

    equality: CallT
    type: SqlType = BOOLEAN


@dataclass(frozen=True, slots=True)
class Branch(Generic[PartT]):
    """One WHEN of a CASE."""

    condition: PartT
    result: PartT


@dataclass(frozen=True, slots=True)
class Case(Generic[PartT]):
    """The result of the first branch whose condition is true; without ELSE the default is NULL."""

    branches: tuple[Branch[PartT], ...]
    default: PartT
    type: SqlType


@dataclass(frozen=True, slots=True)
class Coalesce(Generic[PartT]):
    """The first argument that is not NULL."""

    arguments: tuple[PartT, ...]
    type: SqlType


@dataclass(frozen=True, slots=True)
class NullIf(Generic[CallT]):
    """NULL where the equality holds, else its first argument."""

    equality: CallT
    type: SqlType


@dataclass(frozen=True, slots=True)
class Extreme(Generic[PartT]):
    """GREATEST or LEAST of the arguments that are not NULL, by the type's default order under `collation`."""

    greatest: bool
    arguments: tuple[PartT, ...]
    collation: int
    type: SqlType


@dataclass(frozen=True, slots=True)
class Array(Generic[PartT]):
    """ARRAY[...]; bound also of more than one dimension, where the elements are arrays of the same type."""

    elements: tuple[PartT, ...]
    type: SqlType


@dataclass(frozen=True, slots=True)
class Element:
    """The element of the array that a quantified comparison looks at."""

    type: SqlType


@dataclass(frozen=True, slots=True)
class ArrayComparison(Generic[PartT, CallT]):
    """`x op ANY (array)`, also IN (list): `comparison` has an Element in it for the array's element."""

    quantifier: Quantifier
    comparison: CallT
    array: PartT
    type: SqlType = BOOLEAN


Composed: TypeAlias = (
    Constant
    | Cast[PartT]
    | And[PartT]
    | Or[PartT]
    | Not[PartT]
    | IsNull[PartT]
    | IsTruth[PartT]
    | IsDistinct[CallT]
    | Case[PartT]
    | Coalesce[PartT]
    | NullIf[CallT]
    | Extreme[PartT]
    | Array[PartT]
    | Element
    | ArrayComparison[PartT, CallT]
)
"""What there is before and after names and subqueries are taken away."""

Scalar: TypeAlias = "Reference | Call | Composed[Scalar, Call]"
