"""Numeric values in binary form become decimals of 128 bits: digit by digit, for all values at once.

A value is a sign and digits to the base 10000, the first of which stands for 10000 ** weight. PostgreSQL
sends neither leading nor trailing digits that are zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from catalog.errors import ProtocolViolation, ValueNotStorable
from catalog.postgres.storage import Decimal
from sources.messages.octets import Values

HEADER = 8
NEGATIVE = 0x4000
INT64_DIGITS = 18
HALF = np.uint64(32)
LOW_HALF = np.uint64(0xFFFFFFFF)

# A number of 128 bits: its upper and its lower half.
Words: TypeAlias = tuple[NDArray[np.uint64], NDArray[np.uint64]]


@dataclass(frozen=True, slots=True, eq=False)
class Digits:
    """The digits of many values, as they are sent."""

    values: Values
    count: NDArray[np.int64]
    weight: NDArray[np.int64]

    def at(self, position: int) -> NDArray[np.int64]:
        """The digit of each value that stands for 10000 ** position."""
        index = self.weight - position
        sent = (index >= 0) & (index < self.count)
        places = self.values.starts + np.where(sent, 2 * index + HEADER, 0)
        digits: NDArray[np.int64] = self.values.octets.read(">u2", places).astype(np.int64) * sent
        if digits.max() > 9999:
            raise ProtocolViolation("a numeric has a digit that cannot be")
        return digits


def digit_counts(values: Values) -> NDArray[np.int64]:
    """How many digits, to the base 10000, each number has; its length has to be theirs."""
    count: NDArray[np.int64] = values.read(">i2").astype(np.int64)
    if (count < 0).any() or (values.lengths != 2 * count + HEADER).any():
        raise ProtocolViolation("a numeric has another length than its digits")
    return count


def decode_numeric(column: str, storage: Decimal, values: Values) -> pa.Array:
    """The numbers as decimals; one that has no place in the decimal is an error, never rounded."""
    count = digit_counts(values)
    sign = values.read(">u2", 4)
    negative = sign == NEGATIVE
    if (sign[~negative] != 0).any():
        raise ValueNotStorable(
            column, "It is no number, for which a column of this type usually has no room."
        )
    weight = np.where(count > 0, values.read(">i2", 2).astype(np.int64), last_position(storage))
    digits = Digits(values, count, weight)
    _require_place(column, storage, digits)
    high, low = _number(_parts(column, storage, digits))
    words = np.empty((len(values), 2), np.uint64)
    words[:, 0] = np.where(negative, ~low + np.uint64(1), low)
    words[:, 1] = np.where(negative, ~high + (low == 0), high)
    decimal = pa.decimal128(storage.precision, storage.scale)
    return pa.Array.from_buffers(decimal, len(values), [None, pa.py_buffer(words)])


def last_position(storage: Decimal) -> int:
    """The position of the last digit that a decimal has, perhaps in part."""
    return -((storage.scale + 3) // 4)


def _require_place(column: str, storage: Decimal, digits: Digits) -> None:
    """Raise an error if a value has digits before or behind those of the decimal."""
    whole = storage.precision - storage.scale
    first = (whole + 3) // 4 - 1
    top = int(digits.weight.max())
    if top > first or (top == first >= 0 and digits.at(first).max() >= 10 ** (whole - 4 * first)):
        raise ValueNotStorable(column, f"It has more than {whole} digits before the point.")
    if int((digits.weight - digits.count).min()) + 1 < last_position(storage):
        raise _too_fine(column, storage)


def _too_fine(column: str, storage: Decimal) -> ValueNotStorable:
    return ValueNotStorable(column, f"It has more than {storage.scale} digits behind the point.")


def _parts(column: str, storage: Decimal, digits: Digits) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """The digits from the first that any value has, in parts: how many digits, and what they are."""
    last = last_position(storage)
    for position in range(int(digits.weight.max()), last - 1, -1):
        width = min(4, storage.scale - 4 * (-position - 1)) if position < 0 else 4
        part, rest = np.divmod(digits.at(position), 10 ** (4 - width))
        if rest.any():
            raise _too_fine(column, storage)
        yield width, part


def _number(parts: Iterator[tuple[int, NDArray[np.int64]]]) -> Words:
    """The number that all parts make; as many of them as fit are put together in 64 bits."""
    width, part = next(parts)
    words = np.zeros(len(part), np.uint64), np.zeros(len(part), np.uint64)
    for next_width, next_part in parts:
        if width + next_width <= INT64_DIGITS:
            width, part = width + next_width, part * 10**next_width + next_part
        else:
            words = _times_plus(words, width, part)
            width, part = next_width, next_part
    return _times_plus(words, width, part)


def _times_plus(words: Words, width: int, part: NDArray[np.int64]) -> Words:
    """words * 10 ** width + part, in two steps, so that each factor has 32 bits."""
    if not words[1].any() and not words[0].any():
        return words[0], part.astype(np.uint64)
    once = _multiply(words, 10 ** (width // 2), np.zeros(len(part), np.uint64))
    return _multiply(once, 10 ** (width - width // 2), part.astype(np.uint64))


def _multiply(words: Words, factor: int, addend: NDArray[np.uint64]) -> Words:
    """words * factor + addend."""
    high, low = words
    times = np.uint64(factor)
    lower = (low & LOW_HALF) * times + addend
    upper = (low >> HALF) * times + (lower >> HALF)
    return high * times + (upper >> HALF), (upper << HALF) | (lower & LOW_HALF)
