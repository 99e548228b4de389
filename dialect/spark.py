"""Expressions as Spark SQL that means what PostgreSQL means by them, or not at all.

What has no exact form is refused by name; so is what Spark would compute but for a rare value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, assert_never

from catalog.errors import FeatureNotSupported
from catalog.signatures import TypeSignature
from catalog.storage import ListOf, Plain, Storage, storage_of
from catalog.types import C_COLLATIONS, NO_COLLATION, SqlType
from dialect.array_elements import element_of, with_element, written_elements
from dialect.scalar import (
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
    Quantifier,
    Reference,
    Scalar,
    Truth,
)
from dialect.spark_casts import cast_to
from dialect.spark_comparisons import COLLATED, EQUALITIES, compared
from dialect.spark_constants import constant
from dialect.spark_functions import FUNCTIONS
from dialect.spark_rendered import Rendered, cast, common_storage, converted, unsupported

NUMERIC_DIVISION: Final = 1727
_ELEMENT: Final = "element"


@dataclass(frozen=True, slots=True)
class Environment:
    """What expressions leave to their database: what its types are made of, which collations order bytes."""

    types: Mapping[int, TypeSignature] = field(default_factory=dict)
    binary_collations: frozenset[int] = C_COLLATIONS

    def storage(self, type_: SqlType) -> Storage:
        """How a value of this type is stored; a domain's as its base type's."""
        signature = self.types.get(type_.oid)
        if signature is not None and signature.base:
            return self.storage(SqlType(signature.base, type_.typmod, type_.collation))
        return storage_of(type_, signature)

    def check_order(self, collation: int, what: str) -> None:
        """Refuse an order that is not that of the bytes."""
        if collation != NO_COLLATION and collation not in self.binary_collations:
            raise unsupported(f"{what} under another collation than C", 'Add COLLATE "C".')


DEFAULT: Final = Environment()


def render(scalar: Scalar, columns: Mapping[int, Rendered], environment: Environment = DEFAULT) -> Rendered:
    """The expression over columns that are written, and stored, as given."""
    return _Renderer(columns, environment, None).render(scalar)


def is_exact(scalar: Scalar, environment: Environment = DEFAULT) -> bool:
    """Whether Spark computes this to the digit, over columns as their types say that they are stored.

    A quotient of numerics it does not: stored with a fixed number of digits, it fits only most of the time.
    """
    match scalar:
        case Reference() | Constant():
            return True
    columns: dict[int, Rendered] = {}
    for each in parts(scalar):
        match each:
            case Call(function=function) if function == NUMERIC_DIVISION:
                return False
            case Reference(column=column, type=type_):
                try:
                    columns[column] = Rendered(f"c{column}", environment.storage(type_))
                except FeatureNotSupported:
                    return False
    try:
        render(scalar, columns, environment)
    except FeatureNotSupported:
        return False
    return True


def parts(scalar: Scalar) -> Sequence[Scalar]:
    """The expression and all that is in it."""
    found: list[Scalar] = []
    pending = [scalar]
    while pending:
        found.append(pending.pop())
        pending.extend(_children(found[-1]))
    return found


def _children(scalar: Scalar) -> Sequence[Scalar]:
    match scalar:
        case Reference() | Constant() | Element():
            return ()
        case Call(arguments=these) | And(arguments=these) | Or(arguments=these):
            return these
        case Coalesce(arguments=these) | Extreme(arguments=these) | Array(elements=these):
            return these
        case Cast(argument=child) | Not(argument=child) | IsNull(argument=child) | IsTruth(argument=child):
            return (child,)
        case IsDistinct(equality=equality) | NullIf(equality=equality):
            return (equality,)
        case Case(branches=branches, default=default):
            return (*(part for each in branches for part in (each.condition, each.result)), default)
        case ArrayComparison(comparison=comparison, array=array):
            return (comparison, array)
        case _:
            assert_never(scalar)


@dataclass(frozen=True, slots=True)
class _Renderer:
    """Writes expressions over columns; `element` is what an Element stands for."""

    columns: Mapping[int, Rendered]
    environment: Environment
    element: Rendered | None

    def render(self, scalar: Scalar) -> Rendered:
        match scalar:
            case Reference(column=column):
                return self.columns[column]
            case Element():
                assert self.element is not None
                return self.element
            case Constant(text=text, type=type_):
                return constant(text, type_, self.environment.storage(type_))
            case Call():
                return self._call(scalar)
            case Cast(method=CastMethod.ELEMENTS):
                raise unsupported("a cast of a computed array")
            case Cast(argument=argument, type=type_):
                return cast_to(scalar, self.render(argument), self.environment.storage(type_))
            case And() | Or() | Not() | IsNull() | IsTruth() | IsDistinct() | ArrayComparison():
                return Rendered(self._truth(scalar), Plain.BOOLEAN)
            case Case() | Coalesce() | NullIf() | Extreme() | Array():
                return self._chosen(scalar)
            case _:
                assert_never(scalar)

    def _call(self, call: Call) -> Rendered:
        builder = FUNCTIONS.get(call.function)
        if builder is None:
            raise unsupported(
                f"{call.name} on these types", "Only above the last aggregate it can be computed."
            )
        if call.function in COLLATED:
            self.environment.check_order(call.collation, f"a comparison of text by {call.name}")
        return builder(call, [self.render(each) for each in call.arguments])

    def _truth(self, scalar: And | Or | Not | IsNull | IsTruth | IsDistinct | ArrayComparison) -> str:
        match scalar:
            case And(arguments=arguments):
                return self._joined(" AND ", arguments, "TRUE")
            case Or(arguments=arguments):
                return self._joined(" OR ", arguments, "FALSE")
            case Not(argument=IsDistinct(equality=equality)):
                return compared("<=>", *self._compared(equality))
            case Not(argument=argument):
                return f"(NOT {self.render(argument).sql})"
            case IsNull(argument=argument):
                return f"({self.render(argument).sql} IS NULL)"
            case IsTruth(argument=argument, truth=truth):
                return f"({self.render(argument).sql} <=> {'TRUE' if truth is Truth.TRUE else 'FALSE'})"
            case IsDistinct(equality=equality):
                return f"(NOT {compared('<=>', *self._compared(equality))})"
            case ArrayComparison():
                return self._quantified(scalar)
            case _:
                assert_never(scalar)

    def _joined(self, word: str, scalars: Sequence[Scalar], none: str) -> str:
        return f"({word.join(self.render(each).sql for each in scalars)})" if scalars else none

    def _compared(self, equality: Call) -> tuple[Rendered, Rendered]:
        if equality.function not in EQUALITIES:
            raise unsupported(f"{equality.name} on these types")
        left, right = (self.render(each) for each in equality.arguments)
        return left, right

    def _quantified(self, scalar: ArrayComparison) -> str:
        comparison, some = scalar.comparison, scalar.quantifier is Quantifier.ANY
        stand_in = element_of(comparison)
        assert stand_in is not None
        elements = written_elements(scalar.array, stand_in.type)
        if elements is not None:
            each = [with_element(comparison, element) for element in elements]
            return self._joined(" OR " if some else " AND ", each, "FALSE" if some else "TRUE")
        array = self.render(scalar.array)
        assert isinstance(array.storage, ListOf)
        inner = _Renderer(self.columns, self.environment, Rendered(_ELEMENT, array.storage.element))
        condition = inner.render(comparison).sql
        return f"{'exists' if some else 'forall'}({array.sql}, {_ELEMENT} -> {condition})"

    def _chosen(self, scalar: Case | Coalesce | NullIf | Extreme | Array) -> Rendered:
        match scalar:
            case Case(branches=branches, default=default):
                results, storage = self._alike((*(each.result for each in branches), default))
                conditions = [self.render(each.condition).sql for each in branches]
                whens = (f"WHEN {one} THEN {two}" for one, two in zip(conditions, results, strict=False))
                return Rendered(f"CASE {' '.join(whens)} ELSE {results[-1]} END", storage)
            case Coalesce(arguments=arguments):
                results, storage = self._alike(arguments)
                return Rendered(f"coalesce({', '.join(results)})", storage)
            case NullIf(equality=equality):
                first = self.render(equality.arguments[0])
                missing = cast("NULL", first.storage).sql
                return Rendered(
                    f"CASE WHEN {self.render(equality).sql} THEN {missing} ELSE {first.sql} END",
                    first.storage,
                )
            case Extreme():
                return self._extreme(scalar)
            case Array(elements=elements, type=type_):
                if not elements:
                    return cast("array()", self.environment.storage(type_))
                results, storage = self._alike(elements)
                return Rendered(f"array({', '.join(results)})", ListOf(storage))
            case _:
                assert_never(scalar)

    def _alike(self, scalars: Sequence[Scalar]) -> tuple[list[str], Storage]:
        rendered = [self.render(each) for each in scalars]
        storage = common_storage([each.storage for each in rendered])
        return [converted(each, storage).sql for each in rendered], storage

    def _extreme(self, scalar: Extreme) -> Rendered:
        name = "greatest" if scalar.greatest else "least"
        self.environment.check_order(scalar.collation, name)
        results, storage = self._alike(scalar.arguments)
        if storage is Plain.INTERVAL or isinstance(storage, ListOf):
            raise unsupported(f"{name} of intervals or arrays")
        return Rendered(results[0] if len(results) == 1 else f"{name}({', '.join(results)})", storage)
