"""Keeps the digits of numerics that are equal but written differently, in groups and in sums.

PostgreSQL shows a group by the value that came first to it, and a sum with as many digits as the longest of
what was summed. Here both show the digits of the longest: groups are made by trim_scale(key), and the digits
are a tally beside the others. Nothing is added where the types alone tell the digits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from catalog.errors import FeatureNotSupported
from catalog.postgres import functions
from catalog.postgres.storage import FREE_NUMERIC, MAX_DIGITS, Decimal, Plain, Storage, Written
from catalog.postgres.types import INT4, NUMERIC, NUMERIC_ARRAY, SqlType
from dialect.expressions.environment import Environment
from dialect.expressions.scalar import (
    SHOWN,
    And,
    Branch,
    Call,
    Case,
    Cast,
    CastMethod,
    Coalesce,
    Constant,
    IsNull,
    Not,
    Notation,
    Reference,
    Scalar,
)
from dialect.expressions.storages import common_storage
from dialect.spark.expressions import render
from dialect.spark.numbers.written import is_whole
from dialect.spark.rendered import Rendered
from planner.algebra.columns import Numbers, numbers_after, passing, refer
from planner.algebra.counts import COUNT, is_positive
from planner.algebra.logical import (
    SINGLE,
    Aggregate,
    AggregateCall,
    Aggregated,
    Computed,
    Distinct,
    Field,
    Order,
    Plan,
    Project,
    Scan,
    fields,
)
from planner.algebra.tree import Origin, children, made, nodes, with_children
from planner.delta.numbers.digits import parts_of
from planner.delta.numbers.long_arithmetic import with_long_arithmetic
from planner.delta.numbers.special import long_sum, specials_of, with_specials
from planner.delta.numbers.two_steps import in_two_steps

Columns: TypeAlias = Mapping[int, Rendered]

_EXTREMES: Final = ("min", "max")
_NUMERIC: Final = SqlType(NUMERIC)
_NUMERICS: Final = SqlType(NUMERIC_ARRAY)
_INT4: Final = SqlType(INT4)


def keep_digits(plan: Plan, environment: Environment, *, long_numbers: bool = False) -> Plan:
    """The same plan, in which groups and sums of numerics show the digits that they should.

    `long_numbers`: some numbers are too long for a decimal, though no column type says so.
    """
    types = (column.field.type for node in nodes(plan) if isinstance(node, Scan) for column in node.columns)
    long = long_numbers or any(type_.wide and environment.storage(type_) == FREE_NUMERIC for type_ in types)
    if long:
        plan = with_long_arithmetic(plan)
    return _Walk(environment, numbers_after(plan), long).visit(plan)[0]


@dataclass(frozen=True, slots=True)
class _Around:
    """What is put around an aggregate: expressions above it, and columns computed below it."""

    shown: dict[int, Scalar] = field(default_factory=dict)
    below: dict[Scalar, Field] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Walk:
    """`long`: some numbers are too long to be summed as decimals."""

    environment: Environment
    numbers: Numbers
    long: bool

    def visit(self, plan: Plan) -> tuple[Plan, Columns]:
        """The plan, and how its columns are stored."""
        visited = [self.visit(child) for child in children(plan)]
        plan = with_children(plan, tuple(child for child, _ in visited))
        below = {number: rendered for _, columns in visited for number, rendered in columns.items()}
        match plan:
            case Aggregate():
                return self._aggregate(plan, below)
            case Distinct(input=child) if any(_is_written(rendered.storage) for rendered in below.values()):
                return self._aggregate(Aggregate(child, fields(child), ()), below)
        stored = below | {field.column: self._rendered(field, origin, below) for field, origin in made(plan)}
        return plan, {field.column: stored[field.column] for field in fields(plan)}

    def _rendered(self, field: Field, origin: Origin, below: Columns) -> Rendered:
        if isinstance(origin, AggregateCall):
            return _named(field, self._storage_of(origin, below))
        return _named(field, self._common([self._storage(value, below) for value in origin], field))

    def _aggregate(self, plan: Plan, renderings: Columns) -> tuple[Plan, Columns]:
        assert isinstance(plan, Aggregate)
        keys = [key for key in plan.keys if _is_written(renderings[key.column].storage)]
        around = _Around()
        shown = around.shown
        columns = [new for column in plan.columns for new in self._call(column, renderings, around)]
        trimmed: dict[int, Field] = {}
        for key in keys:
            trimmed[key.column] = self.numbers.field(key.name, key.type)
            digits = self._most_digits(refer(key), None)
            columns.append(digits)
            shown[key.column] = _shown(refer(trimmed[key.column]), _or_none(refer(digits.field)))
        storages = {key.column: renderings[key.column].storage for key in plan.keys} | {
            column.field.column: self._storage_of(column.call, renderings) for column in plan.columns
        }
        outcome = {field.column: _named(field, storages[field.column]) for field in fields(plan)}
        changed = replace(plan, columns=tuple(columns))
        if not shown:
            return (changed if changed.columns != plan.columns else plan), outcome
        computed = [
            Computed(
                trimmed[field.column], _call(functions.TRIM_SCALE, "trim_scale", (refer(field),), _NUMERIC)
            )
            for field in keys
        ] + [Computed(field, value) for value, field in around.below.items()]
        if computed:
            changed = replace(
                changed,
                input=Project(plan.input, (*passing(fields(plan.input)), *computed)),
                keys=tuple(trimmed.get(key.column, key) for key in plan.keys),
            )
        values = (Computed(field, shown.get(field.column, refer(field))) for field in fields(plan))
        maxima = [column.field.column for column in changed.columns if _is_most_digits(column)]
        return Project(in_two_steps(changed, maxima, self.numbers), tuple(values)), outcome

    def _call(self, column: Aggregated, renderings: Columns, around: _Around) -> list[Aggregated]:
        """The call that replaces this one so that sums keep their digits."""
        call = column.call
        if not any(_is_written(self._storage(argument, renderings)) for argument in call.arguments):
            return [column]
        if call.distinct:
            same = (
                _call(functions.TRIM_SCALE, "trim_scale", (argument,), _NUMERIC)
                if _is_written(self._storage(argument, renderings))
                else argument
                for argument in call.arguments
            )
            column = replace(column, call=replace(call, arguments=tuple(same), order=_trimmed(call)))
        if call.function == functions.AVG_NUMERIC:
            return self._average(column, renderings, around)
        if call.function != functions.SUM_NUMERIC:
            return [column]
        total = Aggregated(self.numbers.field(column.field.name, _NUMERIC), column.call)
        [summed] = call.arguments
        parts = parts_of(summed, lambda expression: self._storage(expression, renderings))
        if parts is None:
            return self._sum(column, summed, renderings, around)
        least = min((part.digits for part in parts), default=0)
        counts = [
            (part.digits, self._count(part.value, call.condition)) for part in parts if part.digits > least
        ]
        counts.sort(key=lambda count: -count[0])
        branches = tuple(Branch(is_positive(count.field), _digits(digits)) for digits, count in counts)
        digits = Case(branches, _digits(least), _INT4) if branches else _digits(least)
        around.shown[column.field.column] = _shown(refer(total.field), digits)
        return [total, *(count for _, count in counts)]

    def _sum(
        self, column: Aggregated, summed: Scalar, renderings: Columns, around: _Around
    ) -> list[Aggregated]:
        """A sum of numbers whose digits differ from row to row, some of which may be NaN or infinite."""
        call, name = column.call, column.field.name
        specials = specials_of(
            summed,
            lambda expression: self._may_be_special(expression, renderings),
            lambda expression: self._below(expression, around),
            self.long,
        )
        number = summed if specials is None else specials.number
        total = Aggregated(self.numbers.field(name, _NUMERIC), replace(call, arguments=(number,)))
        digits = number if specials is None else specials.finite
        most = self._most_digits(digits, call.condition)
        value = _shown(refer(total.field), _or_none(refer(most.field)))
        if specials is None:
            around.shown[column.field.column] = value
            return [total, most]
        upward = self._count(_one_if(specials.upward), call.condition, "upward")
        downward = self._count(_one_if(specials.downward), call.condition, "downward")
        of_both = is_positive(upward.field), is_positive(downward.field)
        around.shown[column.field.column] = with_specials(value, *of_both)
        if specials.beyond is None:
            return [total, most, upward, downward]
        numbers = self._numbers(specials.beyond, call)
        array = refer(numbers.field)
        whole = _shown(long_sum(refer(total.field), array), _or_none(refer(most.field)))
        either = Case((Branch(IsNull(array), value),), whole, _NUMERIC)
        around.shown[column.field.column] = with_specials(either, *of_both)
        return [total, most, upward, downward, numbers]

    def _numbers(self, value: Scalar, call: AggregateCall) -> Aggregated:
        """The values in an array; NULL if there are none."""
        known = Not(IsNull(value))
        condition = known if call.condition is None else And((call.condition, known))
        order = (Order(value, descending=False, nulls_first=False),)
        listed = AggregateCall(
            functions.ARRAY_AGG_ANYNONARRAY,
            "array_agg",
            (value,),
            _NUMERICS,
            distinct=call.distinct,
            order=order,
            condition=condition,
        )
        return Aggregated(self.numbers.field("numbers", _NUMERICS), listed)

    def _below(self, scalar: Scalar, around: _Around) -> Scalar:
        """A column below the aggregate for an expression that is used more than once."""
        if isinstance(scalar, Reference):
            return scalar
        if scalar not in around.below:
            around.below[scalar] = self.numbers.field("value", _NUMERIC)
        return refer(around.below[scalar])

    def _average(self, column: Aggregated, renderings: Columns, around: _Around) -> list[Aggregated]:
        """The sum of the values divided by their number."""
        name = column.field.name
        total = Aggregated(
            self.numbers.field(name, _NUMERIC),
            replace(column.call, function=functions.SUM_NUMERIC, name="sum"),
        )
        count = Aggregated(
            self.numbers.field(name, COUNT),
            replace(column.call, function=functions.COUNT_ANY, name="count", type=COUNT),
        )
        summed = self._call(total, renderings, around)
        divisor = Cast(refer(count.field), CastMethod.FUNCTION, functions.NUMERIC_INT8, _NUMERIC)
        dividend = around.shown.pop(total.field.column, refer(total.field))
        quotient = Call(functions.NUMERIC_DIV, "/", Notation.OPERATOR, (dividend, divisor), 0, _NUMERIC)
        around.shown[column.field.column] = quotient
        return [*summed, count]

    def _may_be_special(self, scalar: Scalar, renderings: Columns) -> bool:
        """Whether its storage allows NaN and infinities."""
        try:
            rendered = render(scalar, renderings, self.environment)
        except FeatureNotSupported:
            return False
        return _is_written(rendered.storage) and not is_whole(rendered)

    def _most_digits(self, value: Scalar, condition: Scalar | None) -> Aggregated:
        scale = _call(functions.SCALE, "scale", (value,), _INT4)
        call = AggregateCall(functions.MAX_INT4, "max", (scale,), _INT4, condition=condition)
        return Aggregated(self.numbers.field("digits", _INT4), call)

    def _count(self, value: Scalar, condition: Scalar | None, name: str = "digits") -> Aggregated:
        call = AggregateCall(functions.COUNT_ANY, "count", (value,), COUNT, condition=condition)
        return Aggregated(self.numbers.field(name, COUNT), call)

    def _storage_of(self, call: AggregateCall, renderings: Columns) -> Storage:
        storages = [self._storage(argument, renderings) for argument in call.arguments]
        match call.function, storages:
            case function, [Decimal(scale=scale), *_] if function == functions.SUM_NUMERIC:
                return Decimal(MAX_DIGITS, scale)
            case function, _ if function == functions.SUM_INT8:
                return Decimal(MAX_DIGITS, 0)
            case _, [storage, *_] if call.type.oid == NUMERIC and (
                call.function == SINGLE or call.name in _EXTREMES
            ):
                return storage
        return self._by_type(call.type)

    def _storage(self, scalar: Scalar, renderings: Columns) -> Storage:
        try:
            return render(scalar, renderings, self.environment).storage
        except FeatureNotSupported:
            return self._by_type(scalar.type)

    def _by_type(self, type_: SqlType) -> Storage:
        """A type that is not stored is refused elsewhere."""
        try:
            return self.environment.storage(type_)
        except FeatureNotSupported:
            return Plain.TEXT

    def _common(self, storages: Sequence[Storage], field: Field) -> Storage:
        try:
            return common_storage(storages) if storages else self._by_type(field.type)
        except FeatureNotSupported:
            return self._by_type(field.type)


def _named(field: Field, storage: Storage) -> Rendered:
    return Rendered(f"c{field.column}", storage)


def _is_written(storage: Storage) -> bool:
    return isinstance(storage, Written) and isinstance(storage.value, Decimal)


def _call(function: int, name: str, arguments: tuple[Scalar, ...], type_: SqlType) -> Scalar:
    return Call(function, name, Notation.FUNCTION, arguments, 0, type_)


def _one_if(condition: Scalar) -> Scalar:
    """1 where the condition is true, else NULL: to be counted."""
    return Case((Branch(condition, Constant("1", _INT4)),), Constant(None, _INT4), _INT4)


def _shown(value: Scalar, digits: Scalar) -> Scalar:
    return _call(SHOWN, "round", (value, digits), _NUMERIC)


def _digits(number: int) -> Scalar:
    return Constant(str(number), _INT4)


def _or_none(digits: Scalar) -> Scalar:
    """The digits; 0 for NaN and the infinities, which have none."""
    return Coalesce((digits, _digits(0)), _INT4)


def _is_most_digits(column: Aggregated) -> bool:
    call = column.call
    asked = call.arguments[0] if call.function == functions.MAX_INT4 else None
    return isinstance(asked, Call) and asked.function == functions.SCALE and not call.distinct


def _trimmed(call: AggregateCall) -> tuple[Order, ...]:
    """The order of distinct values, which is by the values themselves."""
    return tuple(
        replace(key, value=_call(functions.TRIM_SCALE, "trim_scale", (key.value,), _NUMERIC))
        if key.value in call.arguments and key.value.type.oid == NUMERIC
        else key
        for key in call.order
    )
