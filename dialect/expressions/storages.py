"""How values of several expressions are stored together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Final, assert_never

from catalog.errors import ELSEWHERE, FeatureNotSupported, NotMaintainable
from catalog.postgres.storage import (
    MAX_DIGITS,
    NO_DIGITS,
    Decimal,
    ListOf,
    Padded,
    Plain,
    Shaped,
    Storage,
    Written,
)

_WIDER: Final = (Plain.INT16, Plain.INT32, Plain.INT64)
_WIDENED: Final = ((Plain.FLOAT32, Plain.FLOAT64), (Plain.DATE, Plain.TIMESTAMP))


def unsupported(what: str, hint: str = ELSEWHERE) -> FeatureNotSupported:
    """The error for what no engine computes exactly."""
    return NotMaintainable(what, hint=hint)


def has_forms(storage: Storage) -> bool:
    """Whether equal values that are stored so may be written differently."""
    match storage:
        case Plain.FLOAT32 | Plain.FLOAT64 | Plain.INTERVAL | Plain.JSONB:
            return True
        case Padded(length=length):
            return length is None
        case Written():
            return True
        case ListOf(element=element) | Shaped(elements=ListOf(element=element)):
            return has_forms(element)
        case Plain() | Decimal():
            return False
        case _:
            assert_never(storage)


def decimal(integral: int, scale: int) -> Decimal:
    """The type with so many digits before and behind the point, as far as it has room for both."""
    return Decimal(min(MAX_DIGITS, max(1, integral + scale)), scale)


def common_storage(storages: Sequence[Storage]) -> Storage:
    """What holds values of all of them as they are written: numbers of different scales keep theirs."""
    return reduce(_wider, storages)


def comparison_storage(one: Storage, other: Storage) -> Storage:
    """A storage of both, where it does not matter how values are written."""
    if isinstance(one, Decimal) and isinstance(other, Decimal):
        return _decimal_of_both(one, other)
    return _wider(one, other)


def _wider(one: Storage, other: Storage) -> Storage:
    match one, other:
        case _ if one == other or other == NO_DIGITS:
            return one
        case _ if one == NO_DIGITS:
            return other
        case Padded(), Padded():
            return Padded(None)
        case Decimal(scale=scale), Decimal(scale=other_scale):
            both = _decimal_of_both(one, other)
            return both if scale == other_scale else Written(both)
        case Written(), Written():
            return Written(comparison_storage(one.value, other.value))
        case Written(), _:
            return Written(comparison_storage(one.value, other))
        case _, Written():
            return Written(comparison_storage(one, other.value))
        case Plain(), Plain() if one in _WIDER and other in _WIDER:
            return max(one, other, key=_WIDER.index)
        case Plain(), Plain() if (one, other) in _WIDENED:
            return other
        case Plain(), Plain() if (other, one) in _WIDENED:
            return one
        case (ListOf() | Shaped(), ListOf() | Shaped()):
            return _array_of_both(one, other)
    raise unsupported("values that are stored in different ways as one column")


def _array_of_both(one: ListOf | Shaped, other: ListOf | Shaped) -> Storage:
    lists = [array.elements if isinstance(array, Shaped) else array for array in (one, other)]
    both = ListOf(_wider(lists[0].element, lists[1].element))
    return Shaped(both) if isinstance(one, Shaped) or isinstance(other, Shaped) else both


def _decimal_of_both(one: Decimal, other: Decimal) -> Decimal:
    """A decimal for both; where it lacks digits, storing is an error and no rounding."""
    integral = max(one.precision - one.scale, other.precision - other.scale)
    return decimal(integral, max(one.scale, other.scale))
