"""The comparison operators of all types."""

from __future__ import annotations

from collections.abc import Callable
from operator import eq, ge, gt, le, lt, ne
from typing import Any, Final

from catalog.postgres.comparisons import COMPARISONS as FUNCTIONS
from catalog.postgres.types import ANYENUM, JSONB, TIMETZ
from executors.reference.values.values import Definitions, Value, order_key

_OUTCOMES: Final = {"=": eq, "<>": ne, "<": lt, "<=": le, ">": gt, ">=": ge}


def _by_order(comparison: Callable[[Any, Any], bool]) -> Callable[[Value, Value], bool]:
    return lambda left, right: comparison(order_key(left), order_key(right))


COMPARISONS: Final[Definitions] = {
    oid: (symbol, _by_order(_OUTCOMES[symbol]))
    for (left, _), functions in FUNCTIONS.items()
    if left not in (ANYENUM, JSONB, TIMETZ)
    for symbol, oid in functions.items()
}
