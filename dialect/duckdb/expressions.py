"""Expressions as SQL of DuckDB that means what PostgreSQL means by them, or not at all.

Whatever is not written here, Spark computes. What is written is an error where DuckDB might compute otherwise
than PostgreSQL for a rare value: then Spark computes the firing again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final, assert_never

from catalog.errors import FeatureNotSupported
from catalog.postgres import functions
from catalog.postgres.comparisons import COMPARISONS
from catalog.postgres.storage import Decimal, Padded, Plain, Storage, Written
from catalog.postgres.types import NUMERIC, SqlType
from dialect.duckdb.casts import cast_to
from dialect.duckdb.constants import constant
from dialect.duckdb.equality import comparable, compared
from dialect.duckdb.functions import EQUALITIES, FUNCTIONS
from dialect.duckdb.long_arithmetic import LONG_NUMBERS
from dialect.duckdb.numbers import NUMERICS, converted, is_number, number_of, value_of
from dialect.duckdb.rendered import NotWritten, Number, Rendered
from dialect.expressions.conditions import condition, over_elements
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
    NullIf,
    Or,
    Reference,
    Scalar,
)
from dialect.expressions.storages import common_storage, comparison_storage

_OF_WRITTEN_NUMBERS: Final = frozenset(
    (*NUMERICS, *LONG_NUMBERS, functions.NUMERIC_DIV, *COMPARISONS[NUMERIC, NUMERIC].values())
)
"""What takes numerics as they are written: with the digits that they show, or without a decimal."""

StorageOf = Callable[[SqlType], Storage]

_LONGEST: Final = 50_000
"""Characters of an expression: a call writes some arguments many times, and others stand inside them."""


def render(scalar: Scalar, columns: Mapping[int, Rendered], storage: StorageOf) -> Rendered:
    """The expression over columns that are written, and stored, as given; else NotWritten."""
    try:
        return _Renderer(columns, storage).render(scalar)
    except FeatureNotSupported as error:
        raise NotWritten(str(error)) from None


@dataclass(frozen=True, slots=True)
class _Renderer:
    columns: Mapping[int, Rendered]
    storage: StorageOf

    def render(self, scalar: Scalar) -> Rendered:
        value = self._written(scalar)
        if len(value.sql) > _LONGEST:
            raise NotWritten("a long expression")
        return value

    def _written(self, scalar: Scalar) -> Rendered:
        match scalar:
            case Reference(column=column):
                return self.columns[column]
            case Constant(text=text, type=type_):
                return constant(text, type_, self.storage(type_))
            case Call():
                return self._call(scalar)
            case Cast(argument=argument, type=type_, method=method):
                if method is CastMethod.ELEMENTS:
                    raise NotWritten("a cast of an array")
                return cast_to(scalar, self.render(argument), self.storage(type_))
            case And() | Or() | Not() | IsNull() | IsTruth() | IsDistinct() | ArrayComparison():
                return Rendered(self._truth(scalar), Plain.BOOLEAN)
            case Case() | Coalesce() | NullIf():
                return self._chosen(scalar)
            case Extreme() | Array() | Element():
                raise NotWritten("an array, or GREATEST or LEAST")
            case _:
                assert_never(scalar)

    def _call(self, call: Call) -> Rendered:
        builder = FUNCTIONS.get(call.function)
        if builder is None:
            raise NotWritten(f"the function {call.name}")
        arguments = [self.render(argument) for argument in call.arguments]
        return builder(call, [_taken(call, argument) for argument in arguments])

    def _truth(self, scalar: And | Or | Not | IsNull | IsTruth | IsDistinct | ArrayComparison) -> str:
        match scalar:
            case And() | Or() | Not() | IsNull() | IsTruth():
                return condition(scalar, lambda part: self.render(part).sql, "IS NOT DISTINCT FROM")
            case IsDistinct(equality=equality):
                if equality.function not in EQUALITIES:
                    raise NotWritten("IS DISTINCT FROM between values of this type")
                left, right = (self.render(argument) for argument in equality.arguments)
                return compared("IS DISTINCT FROM", left, right)
            case ArrayComparison():
                written = over_elements(scalar)
                if written is None:
                    raise NotWritten("a comparison with the elements of a computed array")
                return self.render(written).sql
            case _:
                assert_never(scalar)

    def _chosen(self, scalar: Case | Coalesce | NullIf) -> Rendered:
        match scalar:
            case Case(branches=branches, default=default):
                conditions = [self.render(branch.condition).sql for branch in branches]
                results = (*(branch.result for branch in branches), default)
                return _case(conditions, [self.render(result) for result in results])
            case Coalesce(arguments=arguments):
                values = [self.render(argument) for argument in arguments]
                return _case([f"{value.sql} IS NOT NULL" for value in values[:-1]], values)
            case NullIf(equality=equality):
                first = self.render(equality.arguments[0])
                missing = constant(None, scalar.type, first.storage)
                return _case([self.render(equality).sql], [missing, first])
            case _:
                assert_never(scalar)


def _case(conditions: Sequence[str], values: Sequence[Rendered]) -> Rendered:
    """The value behind the first condition that is true, else the last one."""
    storage = common_storage([value.storage for value in values])
    results = [converted(value, storage).sql for value in values]
    number = None
    if isinstance(storage, Written) and all(map(_has_number, values)):
        numbers = [number_of(value) for value in values]
        common = reduce(comparison_storage, (number.value.storage for number in numbers))
        amounts = [converted(number.value, common).sql for number in numbers]
        scale = _branches(conditions, [number.scale for number in numbers])
        amount = Rendered(_branches(conditions, amounts), common)
        number = Number(amount, scale, all(number.whole for number in numbers))
    return Rendered(_branches(conditions, results), storage, number)


def _has_number(value: Rendered) -> bool:
    return isinstance(value.storage, Decimal) or value.number is not None


def _branches(conditions: Sequence[str], results: Sequence[str]) -> str:
    whens = (f"WHEN {one} THEN {two}" for one, two in zip(conditions, results, strict=False))
    return f"CASE {' '.join(whens)} ELSE {results[-1]} END"


def _taken(call: Call, argument: Rendered) -> Rendered:
    """A bpchar is a text without blanks at its end to most functions, and a numeric is a decimal."""
    if isinstance(argument.storage, Padded):
        return comparable(argument)
    if is_number(argument) and call.function not in _OF_WRITTEN_NUMBERS:
        return value_of(argument)
    return argument
