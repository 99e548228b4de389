"""Expressions as Spark SQL that means what PostgreSQL means by them, or not at all.

What has no exact form is refused by name; so is what Spark would compute but for a rare value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, assert_never

from catalog.errors import ELSEWHERE, FeatureNotSupported
from catalog.postgres.signatures import TypeSignature
from catalog.postgres.storage import ListOf, Padded, Plain, Shaped, Storage, Written, array_of, storage_of
from catalog.postgres.types import C_COLLATIONS, JSON, JSONB, NO_COLLATION, TIMETZ, SqlType
from dialect.expressions.array_elements import element_of, with_element, written_elements
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
    Truth,
)
from dialect.expressions.storages import has_forms, unsupported
from dialect.expressions.walk import inside
from dialect.spark.casts import cast_to, reads_integer
from dialect.spark.choices import alike, chosen, first_known, first_of_equals
from dialect.spark.comparisons import COLLATED, COMPARISONS, EQUALITIES, compared
from dialect.spark.constants import constant
from dialect.spark.dates import DATES, has_every_result
from dialect.spark.equality import comparable
from dialect.spark.functions import FUNCTIONS, WITH_BLANKS
from dialect.spark.moments import without_infinity
from dialect.spark.numbers.numerics import NUMERICS, is_always_exact
from dialect.spark.numbers.written import converted, is_written_number, value_of
from dialect.spark.rendered import Rendered, cast, shared
from dialect.spark.shapes import elements_of

_ELEMENT: Final = "element"
_UNSORTABLE: Final = {JSON: "json", JSONB: "jsonb", TIMETZ: "time with time zone"}
_SORTABLE_HINT: Final = "Sort by an expression of another type."
_COMPUTING: Final = (CastMethod.FUNCTION, CastMethod.LENGTH)


@dataclass(frozen=True, slots=True)
class Environment:
    """What expressions leave to their database: what its types are made of, which collations order bytes,
    and whether its largest and smallest intervals are infinite."""

    types: Mapping[int, TypeSignature] = field(default_factory=dict)
    binary_collations: frozenset[int] = C_COLLATIONS
    infinite_intervals: bool = True

    def storage(self, type_: SqlType) -> Storage:
        """How a value of this type is stored; a domain's as its base type's, an array's by its elements'."""
        signature = self.types.get(type_.oid)
        if signature is not None and signature.base:
            return self.storage(replace(type_, oid=signature.base))
        if signature is not None and signature.element and signature.category == "A":
            element = replace(type_, oid=signature.element, collation=NO_COLLATION)
            return array_of(self.storage(element), type_)
        return storage_of(type_, signature)

    def computable(self, value: Rendered) -> Rendered:
        """The value to compute with: here intervals are infinite at their ends, as from PostgreSQL 17 on."""
        if self.infinite_intervals or value.storage is not Plain.INTERVAL:
            return value
        return without_infinity(value)

    def groups_have_forms(self, type_: SqlType) -> bool:
        """Whether the values of this type that make a group may be written differently.

        Numerics may not: they are trimmed before groups are made. A type that is not stored makes none.
        """
        try:
            storage = self.storage(type_)
        except FeatureNotSupported:
            return False
        return has_forms(storage) and not isinstance(storage, Written)

    def check_order(self, collation: int, what: str) -> None:
        """Refuse an order that is not that of the bytes."""
        if collation != NO_COLLATION and collation not in self.binary_collations:
            raise unsupported(f"{what} under a collation other than C", 'Add COLLATE "C" to the expression.')

    def check_sortable(self, type_: SqlType) -> None:
        """Refuse to sort values whose stored form has another order than PostgreSQL gives them."""
        signature = self.types.get(type_.oid)
        if signature is not None and signature.base:
            self.check_sortable(SqlType(signature.base))
        elif signature is not None and signature.element and signature.category == "A":
            self.check_sortable(SqlType(signature.element))
        elif type_.oid in _UNSORTABLE or (signature is not None and signature.kind == "e"):
            name = signature.name if signature is not None else _UNSORTABLE[type_.oid]
            raise unsupported(f"an order of values of type {name}", _SORTABLE_HINT)


DEFAULT: Final = Environment()


def render(scalar: Scalar, columns: Mapping[int, Rendered], environment: Environment = DEFAULT) -> Rendered:
    """The expression over columns that are written, and stored, as given."""
    return _Renderer(columns, environment, None).render(scalar)


def is_exact(scalar: Scalar, environment: Environment = DEFAULT) -> bool:
    """Whether Spark computes this to the digit, over columns as their types say that they are stored.

    Arithmetic of numerics it does only where the types say that no result has too many digits.
    """
    match scalar:
        case Reference() | Constant():
            return True
    columns: dict[int, Rendered] = {}
    for part in inside(scalar):
        match part:
            case Reference(column=column, type=type_):
                try:
                    columns[column] = Rendered(f"c{column}", environment.storage(type_))
                except FeatureNotSupported:
                    return False
    renderer = _Renderer(columns, environment, None)
    try:
        renderer.render(scalar)
    except FeatureNotSupported:
        return False
    return not renderer.inexact


@dataclass(frozen=True, slots=True)
class _Renderer:
    """Writes expressions over columns; `element` is what an Element stands for.

    `inexact` gathers what has no result for some values though PostgreSQL has one.
    """

    columns: Mapping[int, Rendered]
    environment: Environment
    element: Rendered | None
    inexact: list[Scalar] = field(default_factory=list)

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
            case Cast(argument=argument, type=type_, method=method):
                value = self.render(argument)
                if (method in _COMPUTING and is_written_number(value)) or reads_integer(scalar):
                    self.inexact.append(scalar)
                if method in _COMPUTING:
                    value = self._computable(scalar, value)
                storage = self.environment.storage(type_)
                return shared((value,), lambda given: cast_to(scalar, given[0], storage))
            case And() | Or() | Not() | IsNull() | IsTruth() | IsDistinct() | ArrayComparison():
                return Rendered(self._truth(scalar), Plain.BOOLEAN)
            case Case() | Coalesce() | NullIf() | Extreme() | Array():
                return self._chosen(scalar)
            case _:
                assert_never(scalar)

    def _call(self, call: Call) -> Rendered:
        builder = FUNCTIONS.get(call.function)
        if builder is None:
            kind = "operator" if call.notation is Notation.OPERATOR else "function"
            raise unsupported(
                f"the {kind} {call.name} in a condition, a join, a group or an aggregate",
                f"{ELSEWHERE} In the outermost select list it can be used.",
            )
        if call.function in COLLATED:
            self.environment.check_order(call.collation, f"a comparison of text by {call.name}")
        arguments = [self.render(argument) for argument in call.arguments]
        if call.function in NUMERICS and not is_always_exact(call, arguments):
            self.inexact.append(call)
        if call.function in DATES and not has_every_result(call):
            self.inexact.append(call)
        if call.function in DATES:
            arguments = [self._computable(call, argument) for argument in arguments]
        taken = [_taken(call, argument) for argument in arguments]
        return shared(taken, lambda given: builder(call, given))

    def _computable(self, scalar: Scalar, operand: Rendered) -> Rendered:
        computable = self.environment.computable(operand)
        if computable is not operand:
            self.inexact.append(scalar)
        return computable

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
        return f"({word.join(self.render(scalar).sql for scalar in scalars)})" if scalars else none

    def _compared(self, equality: Call) -> tuple[Rendered, Rendered]:
        if equality.function not in EQUALITIES:
            raise unsupported("IS DISTINCT FROM between values of this type", "Cast them to text.")
        left, right = (self.render(argument) for argument in equality.arguments)
        return left, right

    def _quantified(self, scalar: ArrayComparison) -> str:
        comparison, some = scalar.comparison, scalar.quantifier is Quantifier.ANY
        stand_in = element_of(comparison)
        assert stand_in is not None
        elements = written_elements(scalar.array, stand_in.type)
        if elements is not None:
            comparisons = [with_element(comparison, element) for element in elements]
            return self._joined(" OR " if some else " AND ", comparisons, "FALSE" if some else "TRUE")
        array = elements_of(self.render(scalar.array))
        assert isinstance(array.storage, ListOf)
        stand_in_value = Rendered(_ELEMENT, array.storage.element)
        inner = _Renderer(self.columns, self.environment, stand_in_value, self.inexact)
        condition = inner.render(comparison).sql
        return f"{'exists' if some else 'forall'}({array.sql}, {_ELEMENT} -> {condition})"

    def _chosen(self, scalar: Case | Coalesce | NullIf | Extreme | Array) -> Rendered:
        match scalar:
            case Case(branches=branches, default=default):
                conditions = [self.render(branch.condition).sql for branch in branches]
                results = [
                    self.render(result) for result in (*(branch.result for branch in branches), default)
                ]
                return chosen(conditions, results)
            case Coalesce(arguments=arguments):
                results = [self.render(argument) for argument in arguments]
                return first_known(results)
            case NullIf(equality=equality):
                first = self.render(equality.arguments[0])
                missing = constant(None, scalar.type, first.storage)
                return chosen([self.render(equality).sql], [missing, first])
            case Extreme():
                return self._extreme(scalar)
            case Array(elements=elements, type=type_):
                if not elements:
                    return cast("array()", self.environment.storage(type_))
                results, storage = alike([self.render(element) for element in elements])
                return Rendered(f"array({', '.join(result.sql for result in results)})", ListOf(storage))
            case _:
                assert_never(scalar)

    def _extreme(self, scalar: Extreme) -> Rendered:
        name = "greatest" if scalar.greatest else "least"
        self.environment.check_order(scalar.collation, name)
        for argument in scalar.arguments:
            self.environment.check_sortable(argument.type)
        results, storage = alike([self.render(argument) for argument in scalar.arguments])
        if storage is Plain.INTERVAL or isinstance(storage, ListOf | Shaped):
            raise unsupported(f"{name} of intervals or arrays")
        if len(results) == 1:
            return results[0]
        if isinstance(storage, Written) or storage == Padded(None):
            return first_of_equals(name, results, -1 if scalar.greatest else 1)
        return Rendered(f"{name}({', '.join(result.sql for result in results)})", storage)


def _taken(call: Call, argument: Rendered) -> Rendered:
    """A bpchar is a text without blanks at its end to most functions, and a numeric is a decimal."""
    if isinstance(argument.storage, Padded):
        return converted(argument, Padded(None)) if call.function in WITH_BLANKS else comparable(argument)
    return argument if call.function in COMPARISONS or call.function in NUMERICS else value_of(argument)
