"""Expressions as Spark SQL that means what PostgreSQL means by them, or not at all.

What has no exact form is refused by name; so is what Spark would compute but for a rare value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, assert_never

from catalog.errors import ELSEWHERE, FeatureNotSupported
from catalog.postgres.storage import ListOf, Padded, Plain, Shaped, Written
from dialect.expressions.conditions import condition, over_elements
from dialect.expressions.environment import DEFAULT, Environment
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
from dialect.expressions.storages import unsupported
from dialect.expressions.walk import inside
from dialect.spark.casts import cast_to, reads_integer
from dialect.spark.choices import alike, chosen, first_known, first_of_equals
from dialect.spark.comparisons import COLLATED, COMPARISONS, EQUALITIES, compared
from dialect.spark.constants import constant
from dialect.spark.dates import DATES, has_every_result
from dialect.spark.equality import comparable
from dialect.spark.functions import FUNCTIONS
from dialect.spark.moments import without_infinity
from dialect.spark.numbers.numerics import NUMERICS, is_always_exact
from dialect.spark.numbers.written import converted, is_written_number, value_of
from dialect.spark.rendered import Rendered, cast, shared
from dialect.spark.shapes import elements_of
from dialect.spark.text import WITH_BLANKS

_ELEMENT: Final = "element"
_SIMILAR: Final = "similar_to_escape"
"""The function by which PostgreSQL writes SIMILAR TO with the operator ~."""

_COMPUTING: Final = (CastMethod.FUNCTION, CastMethod.LENGTH)


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


def computable(value: Rendered, environment: Environment) -> Rendered:
    """The value to compute with: here intervals are infinite at their ends, as from PostgreSQL 17 on."""
    if environment.infinite_intervals or value.storage is not Plain.INTERVAL:
        return value
    return without_infinity(value)


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
            raise unsupported(
                f"{self._piece(call)} in a condition, a join, a group or an aggregate",
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

    def _piece(self, call: Call) -> str:
        """The call as a message names it, with the types that an operator is given."""
        if call.notation is not Notation.OPERATOR:
            return f"the function {call.name}"
        if any(isinstance(operand, Call) and operand.name == _SIMILAR for operand in call.arguments):
            return "SIMILAR TO"
        types = dict.fromkeys(self.environment.type_name(argument.type) for argument in call.arguments)
        return f"the operator {call.name} for {' and '.join(types)}"

    def _computable(self, scalar: Scalar, operand: Rendered) -> Rendered:
        value = computable(operand, self.environment)
        if value is not operand:
            self.inexact.append(scalar)
        return value

    def _truth(self, scalar: And | Or | Not | IsNull | IsTruth | IsDistinct | ArrayComparison) -> str:
        match scalar:
            case Not(argument=IsDistinct(equality=equality)):
                return compared("<=>", *self._compared(equality))
            case And() | Or() | Not() | IsNull() | IsTruth():
                return condition(scalar, lambda part: self.render(part).sql, "<=>")
            case IsDistinct(equality=equality):
                return f"(NOT {compared('<=>', *self._compared(equality))})"
            case ArrayComparison():
                return self._quantified(scalar)
            case _:
                assert_never(scalar)

    def _compared(self, equality: Call) -> tuple[Rendered, Rendered]:
        if equality.function not in EQUALITIES:
            raise unsupported("IS DISTINCT FROM between values of this type", "Cast them to text.")
        left, right = (self.render(argument) for argument in equality.arguments)
        return left, right

    def _quantified(self, scalar: ArrayComparison) -> str:
        written = over_elements(scalar)
        if written is not None:
            return self.render(written).sql
        array = elements_of(self.render(scalar.array))
        assert isinstance(array.storage, ListOf)
        stand_in_value = Rendered(_ELEMENT, array.storage.element)
        inner = _Renderer(self.columns, self.environment, stand_in_value, self.inexact)
        function = "exists" if scalar.quantifier is Quantifier.ANY else "forall"
        return f"{function}({array.sql}, {_ELEMENT} -> {inner.render(scalar.comparison).sql})"

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
