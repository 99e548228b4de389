"""Numeric values of any scale: the decimal where there is one, and the text that PostgreSQL writes."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from catalog.errors import ProtocolViolation
from catalog.postgres.storage import MAX_DIGITS, Decimal
from sources.decode.arrow import TEXT, VALUE
from sources.decode.nulls import spread
from sources.decode.numeric import HEADER, NEGATIVE, Digits, decode_numeric, digit_counts, last_position
from sources.messages.octets import Mask, Values

_SPECIAL: Final = {0xC000: "NaN", 0xD000: "Infinity", 0xF000: "-Infinity"}
_SCALE_BITS: Final = 0x3FFF
_DIGITS_OF_A_WORD: Final = 4


def decode_written_numeric(column: str, storage: Decimal, values: Values) -> pa.Array:
    """The numbers as Written; one that the decimal has no place for is a text alone."""
    fits = _fitting(storage, values)
    scales = (values.read(">u2", 6) & _SCALE_BITS).astype(np.int64)
    if fits.all():
        numbers = decode_numeric(column, storage, values)
        return structs(numbers, number_texts(numbers, scales))
    numbers, texts = pa.array([], pa.decimal128(storage.precision, storage.scale)), pa.array([], pa.string())
    if fits.any():
        numbers = decode_numeric(column, storage, values.where(fits))
        texts = number_texts(numbers, scales[fits])
    others = pa.array(_texts_alone(values.where(~fits), scales[~fits]), pa.string())
    order = np.argsort(np.argsort(~fits, kind="stable"))
    return structs(spread(numbers, fits), pa.concat_arrays([texts, others]).take(pa.array(order)))


def structs(numbers: pa.Array, texts: pa.Array) -> pa.Array:
    """What is stored as Written, none of it NULL."""
    return pa.StructArray.from_arrays([numbers, texts], names=[VALUE, TEXT])


def number_texts(numbers: pa.Array, scales: NDArray[np.int64]) -> pa.Array:
    """Each number with so many digits behind the point, which it has no more digits than."""
    behind = numbers.type.scale
    # Arrow writes small numbers with an exponent, but whole ones never.
    whole = pa.Array.from_buffers(
        pa.decimal128(MAX_DIGITS, 0), len(numbers), numbers.buffers(), -1, numbers.offset
    )
    written = whole.cast(pa.string())
    signs = pc.if_else(pc.starts_with(written, "-"), "-", "")
    digits = pc.ascii_lpad(pc.ascii_ltrim(written, "-"), behind + 1, "0")
    texts, places = [], []
    for scale in np.unique(scales).tolist():
        rows = np.flatnonzero(scales == scale)
        chosen = digits.take(pa.array(rows))
        before = pc.utf8_slice_codeunits(chosen, 0, -behind) if behind else chosen
        parts = [signs.take(pa.array(rows)), before]
        if scale:
            fraction = (
                pc.utf8_slice_codeunits(chosen, -behind) if behind else pc.utf8_slice_codeunits(chosen, 0, 0)
            )
            parts.append(pc.utf8_slice_codeunits(pc.ascii_rpad(fraction, scale, "0"), 0, scale))
        texts.append(pc.binary_join_element_wise(parts[0], _joined(parts[1:]), ""))
        places.append(rows)
    return pa.concat_arrays(texts).take(pa.array(np.argsort(np.concatenate(places))))


def _joined(parts: list[pa.Array]) -> pa.Array:
    return parts[0] if len(parts) == 1 else pc.binary_join_element_wise(*parts, ".")


def _fitting(storage: Decimal, values: Values) -> Mask:
    """Which of the values are numbers that have a place in the decimal."""
    count = digit_counts(values)
    sign = values.read(">u2", 4)
    weight = values.read(">i2", 2).astype(np.int64)
    digits = Digits(values, count, weight)
    whole, last = storage.precision - storage.scale, last_position(storage)
    first = (whole + 3) // _DIGITS_OF_A_WORD - 1
    before = (weight < first) | (
        (weight == first) & (digits.at(first) < 10 ** (whole - _DIGITS_OF_A_WORD * first))
    )
    spare = -_DIGITS_OF_A_WORD * last - storage.scale
    behind = (weight - count + 1 >= last) & (digits.at(last) % 10**spare == 0)
    fits: Mask = ((sign == 0) | (sign == NEGATIVE)) & ((count == 0) | (before & behind))
    return fits


def _texts_alone(values: Values, scales: NDArray[np.int64]) -> list[str]:
    """The texts of a few values, one after another."""
    signs, weights = values.read(">u2", 4).tolist(), values.read(">i2", 2).tolist()
    octets = values.gather().to_pylist()
    rows = zip(octets, signs, weights, scales.tolist(), strict=True)
    return [
        _SPECIAL.get(sign) or _text(data[HEADER:], sign, weight, scale) for data, sign, weight, scale in rows
    ]


def _text(words: bytes, sign: int, weight: int, scale: int) -> str:
    if sign not in (0, NEGATIVE):
        raise ProtocolViolation("a numeric has a sign that does not exist")
    numbers = [int.from_bytes(words[place : place + 2], "big") for place in range(0, len(words), 2)]
    digits = "".join(f"{number:04d}" for number in numbers)
    point = _DIGITS_OF_A_WORD * (weight + 1)
    digits = digits.rjust(len(digits) - min(point, 0), "0").ljust(max(point, 0), "0")
    before = digits[: max(point, 0)].lstrip("0") or "0"
    behind = digits[max(point, 0) :].ljust(scale, "0")[:scale]
    return ("-" if sign else "") + before + (f".{behind}" if scale else "")
