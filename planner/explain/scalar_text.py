"""Scalar expressions as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, assert_never

from catalog.postgres import types
from catalog.postgres.types import written_type
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
    Reference,
    Scalar,
)

_NUMBERS: Final = frozenset({types.INT2, types.INT4, types.INT8, types.NUMERIC, types.BOOL})


class ScalarText:
    """Writes expressions; columns are numbered as they come."""

    def __init__(self, names: Mapping[int, str]) -> None:
        self._names = names
        self._numbers: dict[int, int] = {}

    def column(self, column: int) -> str:
        """The column's name and number."""
        number = self._numbers.setdefault(column, len(self._numbers) + 1)
        return f"{self._names.get(column, '?')}#{number}"

    def text(self, scalar: Scalar) -> str:
        """The expression, without brackets around the whole."""
        match scalar:
            case And() | Or() | Not() | IsNull() | IsTruth() | IsDistinct() | ArrayComparison():
                return self._logical(scalar)
            case Call(notation=Notation.OPERATOR, name=name, arguments=(left, right)):
                return f"{self._inner(left)} {name} {self._inner(right)}"
            case Call(notation=Notation.OPERATOR, name=name, arguments=(argument,)):
                return f"{name} {self._inner(argument)}"
            case Case(branches=branches, default=default):
                whens = (f"when {self.text(b.condition)} then {self.text(b.result)}" for b in branches)
                return f"case {' '.join(whens)} else {self.text(default)} end"
            case Cast(argument=argument, type=type_):
                return f"{self._inner(argument)}::{written_type(type_)}"
            case Call() | Coalesce() | NullIf() | Extreme() | Array():
                return self._call(scalar)
            case Reference() | Constant() | Element():
                return self._leaf(scalar)
            case _:
                assert_never(scalar)

    def _leaf(self, scalar: Reference | Constant | Element) -> str:
        match scalar:
            case Reference(column=column):
                return self.column(column)
            case Constant(text=text, type=type_):
                if text is None:
                    return "null"
                return text if type_.oid in _NUMBERS else "'" + text.replace("'", "''") + "'"
            case Element():
                return "element"
            case _:
                assert_never(scalar)

    def _logical(self, scalar: And | Or | Not | IsNull | IsTruth | IsDistinct | ArrayComparison) -> str:
        match scalar:
            case And(arguments=arguments):
                return " and ".join(map(self._inner, arguments)) or "true"
            case Or(arguments=arguments):
                return " or ".join(map(self._inner, arguments)) or "false"
            case Not(argument=argument):
                return f"not {self._inner(argument)}"
            case IsNull(argument=argument):
                return f"{self._inner(argument)} is null"
            case IsTruth(argument=argument, truth=truth):
                return f"{self._inner(argument)} is {truth.value}"
            case IsDistinct(equality=Call(arguments=(left, right))):
                return f"{self._inner(left)} is distinct from {self._inner(right)}"
            case IsDistinct():
                raise AssertionError("an equality of two values")
            case ArrayComparison(quantifier=quantifier, comparison=comparison, array=array):
                return f"{self._inner(comparison)} for {quantifier.value} of {self._inner(array)}"
            case _:
                assert_never(scalar)

    def _call(self, scalar: Call | Coalesce | NullIf | Extreme | Array) -> str:
        match scalar:
            case Call(name=name, arguments=arguments):
                return f"{name}({self._list(arguments)})"
            case Coalesce(arguments=arguments):
                return f"coalesce({self._list(arguments)})"
            case NullIf(equality=equality):
                return f"nullif({self._list(equality.arguments)})"
            case Extreme(greatest=greatest, arguments=arguments):
                return f"{'greatest' if greatest else 'least'}({self._list(arguments)})"
            case Array(elements=elements):
                return f"array[{self._list(elements)}]"
            case _:
                assert_never(scalar)

    def _list(self, scalars: tuple[Scalar, ...]) -> str:
        return ", ".join(map(self.text, scalars))

    def _inner(self, scalar: Scalar) -> str:
        match scalar:
            case Reference() | Constant() | Element() | Cast() | Coalesce() | NullIf() | Extreme() | Array():
                return self.text(scalar)
            case Call(notation=Notation.FUNCTION):
                return self.text(scalar)
        return f"({self.text(scalar)})"
