"""How many digits a numeric shows, where the types alone leave few possibilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Final, NamedTuple, TypeAlias

from catalog.postgres import functions
from catalog.postgres.storage import NO_DIGITS, Decimal, Storage
from dialect.expressions.scalar import Branch, Call, Case, Coalesce, Constant, IsNull, Not, Scalar

_SCALED: Final = (
    functions.NUMERIC_ADD,
    functions.NUMERIC_SUB,
    functions.NUMERIC_MUL,
    functions.NUMERIC_UMINUS,
    functions.NUMERIC_UPLUS,
    functions.NUMERIC_ABS,
    functions.ABS_NUMERIC,
)
_MOST_PARTS: Final = 8

StorageOf: TypeAlias = Callable[[Scalar], Storage]


class Part(NamedTuple):
    """The values that show a given number of digits; the expression is NULL for all other values."""

    digits: int
    value: Scalar


def parts_of(scalar: Scalar, storage: StorageOf) -> Sequence[Part] | None:
    """The parts that together are all values of the expression; None if the digits differ from row to row."""
    parts = _parts(scalar, storage)
    return None if parts is None or len(parts) > _MOST_PARTS else parts


def _parts(scalar: Scalar, storage: StorageOf) -> Sequence[Part] | None:
    match storage(scalar):
        case digits if digits == NO_DIGITS:
            return ()
        case Decimal(scale=scale):
            return (Part(scale, scalar),)
    match scalar:
        case Case():
            return _of_case(scalar, storage)
        case Coalesce(arguments=(*some, last)):
            branches = tuple(Branch(Not(IsNull(expression)), expression) for expression in some)
            return _of_case(Case(branches, last, scalar.type), storage)
        case Call(function=function, arguments=arguments) if function in _SCALED:
            return _of_call(scalar, [_parts(argument, storage) for argument in arguments])
    return None


def _of_case(case: Case, storage: StorageOf) -> Sequence[Part] | None:
    together: list[Part] = []
    missing = Constant(None, case.type)
    results = (*(branch.result for branch in case.branches), case.default)
    for place, result in enumerate(results):
        parts = _parts(result, storage)
        if parts is None:
            return None
        for digits, value in parts:
            chosen = [value if place == number else missing for number in range(len(results))]
            branches = (
                replace(branch, result=one) for branch, one in zip(case.branches, chosen, strict=False)
            )
            together.append(Part(digits, Case(tuple(branches), chosen[-1], case.type)))
    return together


def _of_call(call: Call, arguments: Sequence[Sequence[Part] | None]) -> Sequence[Part] | None:
    known = [parts for parts in arguments if parts is not None]
    if len(known) < len(arguments):
        return None
    add = sum if call.function == functions.NUMERIC_MUL else max
    return [
        Part(
            add(part.digits for part in chosen), replace(call, arguments=tuple(part.value for part in chosen))
        )
        for chosen in product(*known)
    ]
