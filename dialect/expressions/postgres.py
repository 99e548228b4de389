"""Expressions as PostgreSQL's own SQL, every name qualified: no setting changes what it means.

The columns that they are over have the collation of their type alone, whatever that of the columns was from
which they come. So each argument has the collation under which it is used written behind it, explicitly: then
no other one can be in conflict with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, assert_never

from catalog.errors import NotMaintainable
from catalog.postgres.types import (
    CONFLICTING,
    DEFAULT_COLLATION,
    INTERVAL,
    NAMES,
    NO_COLLATION,
    NO_TYPMOD,
    UNKNOWN,
    SqlType,
    written_type,
)
from dialect.expressions.array_elements import element_of, with_element, written_elements
from dialect.expressions.interval_fields import modifiers
from dialect.expressions.scalar import (
    And,
    Array,
    ArrayComparison,
    Call,
    Case,
    Cast,
    CastMethod,
    Coalesce,
    Constant,
    Element,
    Extreme,
    IsDistinct,
    IsNull,
    IsTruth,
    Not,
    Notation,
    NullIf,
    Or,
    Quantifier,
    Reference,
    Scalar,
)
from dialect.expressions.walk import inside

_BY_VALUE: Final = "Compare with each of the values, joined by OR."
_DEFAULT: Final = 'pg_catalog."default"'
BUILT_IN: Final[Mapping[int, str]] = {
    DEFAULT_COLLATION: _DEFAULT,
    950: 'pg_catalog."C"',
    951: 'pg_catalog."POSIX"',
}
"""The names of the collations that every database has."""


def write(scalar: Scalar, columns: Mapping[int, str], collations: Mapping[int, str] = BUILT_IN) -> str:
    """The expression over columns, and under collations, that are called so."""
    is_collated = any(_collation(part) not in (NO_COLLATION, DEFAULT_COLLATION) for part in inside(scalar))
    return _Writer(columns, collations if is_collated else {}).write(scalar)


def type_name(type_: SqlType) -> str:
    """The type as written after `::`."""
    if type_.oid not in NAMES:
        raise NotMaintainable(
            "a constant, or a cast, of this type in the select list", hint="Cast to text instead."
        )
    if type_.oid == INTERVAL and type_.typmod != NO_TYPMOD:
        return f"pg_catalog.interval({modifiers(type_)})"
    return f"pg_catalog.{written_type(type_)}"


def quoted(text: str) -> str:
    """A string, whatever the setting standard_conforming_strings is."""
    doubled = text.replace("'", "''")
    return f"E'{doubled}'".replace("\\", "\\\\") if "\\" in text else f"'{doubled}'"


def _collation(scalar: Scalar) -> int:
    """The collation by which it compares, or computes otherwise."""
    match scalar:
        case Call(collation=collation) | Extreme(collation=collation):
            return collation
    return NO_COLLATION


class _Writer:
    """`collations` is empty where all texts are used under the default one."""

    def __init__(self, columns: Mapping[int, str], collations: Mapping[int, str]) -> None:
        self._columns = columns
        self._collations = collations

    def write(self, scalar: Scalar) -> str:
        match scalar:
            case Reference(column=column):
                return self._columns[column]
            case Constant(text=str(text), type=SqlType(oid=oid)) if oid == UNKNOWN:
                return quoted(text)  # an argument of type "any": PostgreSQL takes it for a text
            case Constant(text=text, type=type_):
                return f"({'NULL' if text is None else quoted(text)}::{type_name(type_)})"
            case Call():
                return self._call(scalar)
            case Cast():
                return self._cast(scalar)
            case And() | Or() | Not() | IsNull() | IsTruth() | IsDistinct() | ArrayComparison():
                return self._truth(scalar)
            case Case() | Coalesce() | NullIf() | Extreme() | Array():
                return self._chosen(scalar)
            case Element():
                raise NotMaintainable("a comparison with an element in this form", hint=_BY_VALUE)
            case _:
                assert_never(scalar)

    def _call(self, call: Call) -> str:
        arguments = self._under(call.collation, call.arguments)
        if call.notation is Notation.FUNCTION:
            return f'pg_catalog."{call.name}"({", ".join(arguments)})'
        *left, right = arguments
        return f"({' '.join(left)} OPERATOR(pg_catalog.{call.name}) {right})"

    def _cast(self, cast: Cast) -> str:
        argument = self.write(cast.argument)
        if cast.method is CastMethod.RELABEL and _without_collation(cast) == _without_collation(
            cast.argument
        ):
            return argument
        return f"({argument}::{type_name(cast.type)})"

    def _under(self, collation: int, scalars: Sequence[Scalar]) -> list[str]:
        """The expressions, those which have a collation under this one; a conflict matters to nobody."""
        written = [self.write(scalar) for scalar in scalars]
        if not self._collations:
            return written
        if collation in (NO_COLLATION, CONFLICTING):
            collation = DEFAULT_COLLATION
        if collation not in self._collations:
            raise NotMaintainable("a collation of another name in the select list", hint='Add COLLATE "C".')
        return [
            text
            if scalar.type.collation == NO_COLLATION
            else f"({text} COLLATE {self._collations[collation]})"
            for text, scalar in zip(written, scalars, strict=True)
        ]

    def _truth(self, scalar: And | Or | Not | IsNull | IsTruth | IsDistinct | ArrayComparison) -> str:
        match scalar:
            case And(arguments=arguments):
                return self._joined(" AND ", arguments, "true")
            case Or(arguments=arguments):
                return self._joined(" OR ", arguments, "false")
            case Not(argument=argument):
                return f"(NOT {self.write(argument)})"
            case IsNull(argument=argument):
                return f"({self.write(argument)} IS NULL)"
            case IsTruth(argument=argument, truth=truth):
                return f"({self.write(argument)} IS {truth.value})"
            case IsDistinct(equality=Call(arguments=(_, _) as sides, collation=collation)):
                return f"({' IS DISTINCT FROM '.join(self._under(collation, sides))})"
            case ArrayComparison(comparison=comparison, quantifier=quantifier, array=array):
                return self._quantified(comparison, quantifier is Quantifier.ANY, array)
            case IsDistinct():
                raise NotMaintainable("IS DISTINCT FROM in this form", hint="Compare the columns one by one.")
            case _:
                assert_never(scalar)

    def _joined(self, word: str, scalars: Sequence[Scalar], none: str) -> str:
        return f"({word.join(map(self.write, scalars))})" if scalars else none

    def _quantified(self, comparison: Call, some: bool, array: Scalar) -> str:
        element = element_of(comparison)
        elements = None if element is None else written_elements(array, element.type)
        if elements is None:
            raise NotMaintainable("a comparison with a computed array", hint=_BY_VALUE)
        comparisons = [with_element(comparison, value) for value in elements]
        return self._joined(" OR " if some else " AND ", comparisons, "false" if some else "true")

    def _chosen(self, scalar: Case | Coalesce | NullIf | Extreme | Array) -> str:
        match scalar:
            case Case(branches=branches, default=default):
                *results, other = self._alike((*(branch.result for branch in branches), default))
                whens = (
                    f"WHEN {self.write(branch.condition)} THEN {result}"
                    for branch, result in zip(branches, results, strict=True)
                )
                return f"(CASE {' '.join(whens)} ELSE {other} END)"
            case Coalesce(arguments=arguments):
                return f"COALESCE({', '.join(self._alike(arguments))})"
            case NullIf(equality=equality):
                first = self.write(equality.arguments[0])
                return f"(CASE WHEN {self.write(equality)} THEN NULL ELSE {first} END)"
            case Extreme(greatest=greatest, arguments=arguments, collation=collation):
                values = self._under(collation, arguments)
                return f"{'GREATEST' if greatest else 'LEAST'}({', '.join(values)})"
            case Array(elements=elements):
                return f"ARRAY[{', '.join(self._alike(elements))}]"
            case _:
                assert_never(scalar)

    def _alike(self, scalars: Sequence[Scalar]) -> list[str]:
        """What is chosen from: whoever uses the choice says under which collation; here none may conflict."""
        return self._under(DEFAULT_COLLATION, scalars)


def _without_collation(scalar: Scalar) -> SqlType:
    return replace(scalar.type, collation=NO_COLLATION)
