"""Expressions as PostgreSQL's own SQL, every name qualified: no setting changes what it means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, assert_never

from catalog.postgres.types import INTERVAL, NAMES, NO_TYPMOD, UNKNOWN, SqlType, written_type
from dialect.binding.unbindable import refused
from dialect.expressions.array_elements import element_of, with_element, written_elements
from dialect.expressions.scalar import (
    And,
    Array,
    ArrayComparison,
    Call,
    Case,
    Cast,
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

_BY_VALUE: Final = "Compare with each of the values, joined by OR."
_COLLATIONS: Final[Mapping[int, str]] = {100: "default", 950: "C", 951: "POSIX"}


def write(scalar: Scalar, columns: Mapping[int, str]) -> str:
    """The expression over columns that are called so."""
    return _Writer(columns).write(scalar)


def type_name(type_: SqlType) -> str:
    """The type as written after `::`."""
    if type_.oid not in NAMES:
        raise refused("a constant, or a cast, of this type in the select list", "Cast to text instead.")
    if type_.oid == INTERVAL and type_.typmod != NO_TYPMOD:
        raise refused("an interval with fields", "Write interval alone.")
    return f"pg_catalog.{written_type(type_)}"


def quoted(text: str) -> str:
    """A string, whatever the setting standard_conforming_strings is."""
    doubled = text.replace("'", "''")
    return f"E'{doubled}'".replace("\\", "\\\\") if "\\" in text else f"'{doubled}'"


class _Writer:
    def __init__(self, columns: Mapping[int, str]) -> None:
        self._columns = columns

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
                raise refused("a comparison with an element in this form", _BY_VALUE)
            case _:
                assert_never(scalar)

    def _call(self, call: Call) -> str:
        arguments = [self.write(argument) for argument in call.arguments]
        if call.notation is Notation.FUNCTION:
            return f'pg_catalog."{call.name}"({", ".join(arguments)})'
        *left, right = arguments
        return f"({' '.join(left)} OPERATOR(pg_catalog.{call.name}) {right})"

    def _cast(self, cast: Cast) -> str:
        written = f"({self.write(cast.argument)}::{type_name(cast.type)})"
        collation = cast.type.collation
        if collation in (0, cast.argument.type.collation) or cast.argument.type.collation == 0:
            return written
        if collation not in _COLLATIONS:
            raise refused("a cast to a collation of another name", 'Use COLLATE "C".')
        return f'({written} COLLATE pg_catalog."{_COLLATIONS[collation]}")'

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
            case IsDistinct(equality=Call(arguments=(left, right))):
                return f"({self.write(left)} IS DISTINCT FROM {self.write(right)})"
            case ArrayComparison(comparison=comparison, quantifier=quantifier, array=array):
                return self._quantified(comparison, quantifier is Quantifier.ANY, array)
            case IsDistinct():
                raise refused("IS DISTINCT FROM in this form", "Compare the columns one by one.")
            case _:
                assert_never(scalar)

    def _joined(self, word: str, scalars: Sequence[Scalar], none: str) -> str:
        return f"({word.join(map(self.write, scalars))})" if scalars else none

    def _quantified(self, comparison: Call, some: bool, array: Scalar) -> str:
        element = element_of(comparison)
        elements = None if element is None else written_elements(array, element.type)
        if elements is None:
            raise refused("a comparison with a computed array", _BY_VALUE)
        comparisons = [with_element(comparison, value) for value in elements]
        return self._joined(" OR " if some else " AND ", comparisons, "false" if some else "true")

    def _chosen(self, scalar: Case | Coalesce | NullIf | Extreme | Array) -> str:
        match scalar:
            case Case(branches=branches, default=default):
                whens = (
                    f"WHEN {self.write(branch.condition)} THEN {self.write(branch.result)}"
                    for branch in branches
                )
                return f"(CASE {' '.join(whens)} ELSE {self.write(default)} END)"
            case Coalesce(arguments=arguments):
                return f"COALESCE({', '.join(map(self.write, arguments))})"
            case NullIf(equality=equality):
                first = self.write(equality.arguments[0])
                return f"(CASE WHEN {self.write(equality)} THEN NULL ELSE {first} END)"
            case Extreme(greatest=greatest, arguments=arguments):
                return f"{'GREATEST' if greatest else 'LEAST'}({', '.join(map(self.write, arguments))})"
            case Array(elements=elements):
                return f"ARRAY[{', '.join(map(self.write, elements))}]"
            case _:
                assert_never(scalar)
