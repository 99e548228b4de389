"""PostgreSQL's aggregates over the arguments of a group's rows, in their order."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import partial, reduce
from typing import Any, Final, TypeAlias

from catalog.postgres.types import FLOAT4, FLOAT8, INT8, INTERVAL, NUMERIC
from dialect.expressions.quotient import digits_of_quotient, divide
from executors.reference.values.floats import single
from executors.reference.values.integers import fitting
from executors.reference.values.numerics import add, multiply, square_root_to, subtract
from executors.reference.values.values import Interval, Row, Value, order_key

Arguments: TypeAlias = Sequence[Row]


def total(weighted: Sequence[tuple[Any, int]], oid: int) -> Value:
    """The sum of values, each as often as its weight says, as a value of the type; NULL if there are none."""
    if not weighted:
        return None
    match oid:
        case _ if oid in (FLOAT4, FLOAT8):
            return _float_total([value * weight for value, weight in weighted], oid)
        case _ if oid == NUMERIC:
            return reduce(add, (multiply(Decimal(value), Decimal(weight)) for value, weight in weighted))
        case _ if oid == INTERVAL:
            return Interval(
                sum(value.months * weight for value, weight in weighted),
                sum(value.days * weight for value, weight in weighted),
                sum(value.microseconds * weight for value, weight in weighted),
            )
        case _:
            return fitting(oid, sum(value * weight for value, weight in weighted))


def _float_total(values: list[float], oid: int) -> float:
    """Correctly rounded, so that it is the same in every order."""
    total = math.fsum(values) if all(map(math.isfinite, values)) else sum(values)
    return single(total) if oid == FLOAT4 else total


def _present(arguments: Arguments) -> list[Any]:
    return [row[0] for row in arguments if row[0] is not None]


def _sum(oid: int, arguments: Arguments) -> Value:
    return total([(value, 1) for value in _present(arguments)], oid)


def _average(arguments: Arguments) -> Value:
    values = _present(arguments)
    return divide(reduce(add, map(Decimal, values)), Decimal(len(values))) if values else None


def _float_average(arguments: Arguments) -> Value:
    values = _present(arguments)
    return _float_total(values, FLOAT8) / len(values) if values else None


def _extreme(choose: Callable[..., Value], arguments: Arguments) -> Value:
    return choose(_present(arguments), key=order_key, default=None)


def _truth(test: Callable[[Iterable[object]], bool], arguments: Arguments) -> Value:
    values = _present(arguments)
    return test(values) if values else None


def _joined(arguments: Arguments) -> Value:
    pairs = [(text, delimiter) for text, delimiter in arguments if text is not None]
    parts = [part for text, delimiter in pairs for part in (delimiter, text) if part is not None]
    if not pairs:
        return None
    return "".join(map(str, parts[0 if pairs[0][1] is None else 1 :]))


def _deviation(arguments: Arguments, *, sample: bool, root: bool) -> Value:
    """(n * sum of squares - square of sum) / (n * (n - 1)), n * n for the population, or its root."""
    values = [Decimal(value) for value in _present(arguments)]
    count = Decimal(len(values))
    if not values or (sample and count == 1):
        return None
    squares = multiply(count, reduce(add, (multiply(value, value) for value in values)))
    plain = reduce(add, values)
    numerator = subtract(squares, multiply(plain, plain))
    if numerator <= 0:
        return Decimal(0)
    denominator = multiply(count, count - 1 if sample else count)
    quotient = divide(numerator, denominator)
    return square_root_to(quotient, digits_of_quotient(numerator, denominator)) if root else quotient


_LEAST: Final = partial(_extreme, min)
_GREATEST: Final = partial(_extreme, max)
_VARIANCE: Final = partial(_deviation, sample=True, root=False)
_DEVIATION: Final = partial(_deviation, sample=True, root=True)
_VARIANCE_OF_ALL: Final = partial(_deviation, sample=False, root=False)
_DEVIATION_OF_ALL: Final = partial(_deviation, sample=False, root=True)

AGGREGATES: Final[Mapping[int, tuple[str, Callable[[Arguments], Value]]]] = {
    2803: ("count", len),
    2147: ("count", lambda arguments: len(_present(arguments))),
    2107: ("sum", partial(_sum, NUMERIC)),
    2108: ("sum", partial(_sum, INT8)),
    2109: ("sum", partial(_sum, INT8)),
    2110: ("sum", partial(_sum, FLOAT4)),
    2111: ("sum", partial(_sum, FLOAT8)),
    2113: ("sum", partial(_sum, INTERVAL)),
    2114: ("sum", partial(_sum, NUMERIC)),
    **dict.fromkeys((2100, 2101, 2102, 2103), ("avg", _average)),
    **dict.fromkeys((2104, 2105), ("avg", _float_average)),
    **dict.fromkeys((2051, *range(2131, 2137), 2138, 2139, *range(2142, 2147), 2245), ("min", _LEAST)),
    **dict.fromkeys((2050, *range(2115, 2121), 2122, 2123, *range(2126, 2131), 2244), ("max", _GREATEST)),
    2517: ("bool_and", partial(_truth, all)),
    2519: ("every", partial(_truth, all)),
    2518: ("bool_or", partial(_truth, any)),
    3538: ("string_agg", _joined),
    2335: ("array_agg", lambda arguments: tuple(row[0] for row in arguments) or None),
    **dict.fromkeys((2148, 2149, 2150, 2153), ("variance", _VARIANCE)),
    **dict.fromkeys((2641, 2642, 2643, 2646), ("var_samp", _VARIANCE)),
    **dict.fromkeys((2718, 2719, 2720, 2723), ("var_pop", _VARIANCE_OF_ALL)),
    **dict.fromkeys((2154, 2155, 2156, 2159), ("stddev", _DEVIATION)),
    **dict.fromkeys((2712, 2713, 2714, 2717), ("stddev_samp", _DEVIATION)),
    **dict.fromkeys((2724, 2725, 2726, 2729), ("stddev_pop", _DEVIATION_OF_ALL)),
}
