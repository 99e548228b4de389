"""Single rows as pgoutput sends them: their bytes, their keys, and unchanged values that they leave out."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from catalog.errors import ProtocolViolation
from sources.messages.copied_rows import CopiedRows
from sources.messages.fields import Layout, walk
from sources.messages.octets import Mask, Octets, Positions

_COUNT: Final = struct.Struct(">H")
_WITHOUT_VALUE: Final = b"nu"


@dataclass(frozen=True, slots=True, eq=False)
class Tuples:
    """Rows of a buffer: where they lie, their keys, and which of them leave out what did not change."""

    octets: Octets
    starts: Positions
    ends: Positions
    keys: list[bytes]
    partial: Mask

    def rows(self) -> list[bytes]:
        """The bytes of each row."""
        return slices(self.octets.data, self.starts, self.ends)


def tuples_at(octets: Octets, starts: Positions, columns: int, key: Sequence[int]) -> Tuples:
    """Rows with this number of columns, of which those at the places `key` are their key."""
    if (octets.read(">i2", starts) != columns).any():
        raise ProtocolViolation(f"a row has another number of fields than {columns}")
    cursors, partial = starts + 2, np.zeros(len(starts), np.bool_)
    bounds: dict[int, tuple[Positions, Positions]] = {}
    for number in range(columns):
        begin = cursors
        column_fields, cursors = walk(octets, cursors, Layout.PGOUTPUT)
        bounds[number] = begin, cursors
        if column_fields.unchanged is not None:
            partial |= column_fields.unchanged
    parts = [slices(octets.data, *bounds[number]) for number in key]
    keys = parts[0] if len(parts) == 1 else list(map(b"".join, zip(*parts, strict=True)))
    return Tuples(octets, starts, cursors, keys, partial)


def slices(data: bytes | memoryview, starts: Positions, ends: Positions) -> list[bytes]:
    """The bytes between these positions."""
    return [bytes(data[start:end]) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]


def split(row: bytes) -> list[bytes]:
    """The fields of a row, each with the letter of its kind before it."""
    fields, at = [], 2
    for _ in range(*_COUNT.unpack_from(row)):
        length = 0 if row[at] in _WITHOUT_VALUE else 4 + int.from_bytes(row[at + 1 : at + 5], "big")
        end = at + 1 + length
        fields.append(row[at:end])
        at = end
    return fields


def joined(fields: Sequence[bytes]) -> bytes:
    """The row of these fields."""
    return _COUNT.pack(len(fields)) + b"".join(fields)


def key_of(row: bytes, key: Sequence[int]) -> bytes:
    """The fields at these places."""
    fields = split(row)
    return b"".join([fields[place] for place in key])


def filled(new: bytes, old: bytes) -> bytes:
    """A new row with the unchanged values that it left out taken from the old one."""
    pairs = zip(split(new), split(old), strict=True)
    return joined([before if after == b"u" else after for after, before in pairs])


def buffer_of(rows: Sequence[bytes]) -> CopiedRows:
    """A buffer of consecutive rows."""
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    return CopiedRows(b"".join(rows), np.cumsum(lengths) - lengths)


def from_copy(rows: CopiedRows, columns: int) -> CopiedRows:
    """Rows of COPY in the form of pgoutput: a letter before each field, and nothing else for NULL."""
    octets = Octets(rows.data)
    cursors = rows.starts + 2
    fields, nulls = [], []
    for _ in range(columns):
        column_fields, after = walk(octets, cursors, Layout.COPY)
        fields.append(cursors)
        nulls.append(
            np.zeros(len(cursors), np.bool_) if column_fields.present is None else ~column_fields.present
        )
        cursors = after
    positions, absent = np.array(fields).T.ravel(), np.array(nulls).T.ravel()
    letters = np.where(absent, np.uint8(ord("n")), np.uint8(ord("b")))
    lettered = np.insert(np.frombuffer(rows.data, np.uint8), positions, letters)
    # In the order of their positions, each letter lies as many bytes further as there are letters before it.
    lengths = (positions + np.arange(len(positions)))[absent]
    kept = np.ones(len(lettered), np.bool_)
    kept[(lengths[:, None] + np.arange(1, 5)).ravel()] = False
    before = np.cumsum(np.array(nulls).sum(axis=0)) - np.array(nulls).sum(axis=0)
    starts = rows.starts + columns * np.arange(len(rows.starts)) - 4 * before
    return CopiedRows(lettered[kept].tobytes(), starts)
