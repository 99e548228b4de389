"""Rows as PostgreSQL sends them become Arrow columns: all rows at once, one column after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from catalog.errors import ProtocolViolation
from catalog.storage import StoredColumn
from sources.arrow import arrow_type
from sources.binary import decode_binary
from sources.fields import Fields, Layout, walk
from sources.nulls import spread
from sources.octets import Mask, Octets, Positions, Values
from sources.text import decode_text

# So many rows at once that their bytes and the working arrays stay in the processor's caches.
BLOCK_ROWS = 16_384


@dataclass(frozen=True, slots=True, eq=False)
class Decoded:
    """Decoded rows: each column's values, which of them were not sent because unchanged, where the rows end.

    A value that was not sent is NULL; a mask is None where all were sent.
    """

    arrays: tuple[pa.Array, ...]
    unchanged: tuple[Mask | None, ...]
    ends: Positions


def decode_rows(
    data: bytes | memoryview, starts: Positions, columns: Sequence[StoredColumn], layout: Layout
) -> Decoded:
    """The rows that start at these ascending positions of less than 2 GiB.

    The session that sends them has `sources.text.SETTINGS`. A value that cannot be stored as it is raises
    ValueNotStorable, and bytes that are no such rows raise ProtocolViolation.
    """
    octets = Octets(data)
    bounds = range(0, max(len(starts), 1), BLOCK_ROWS)
    blocks = [_decode_block(octets, starts[low : low + BLOCK_ROWS], columns, layout) for low in bounds]
    ends = np.concatenate([block.ends for block in blocks])
    if (ends[:-1] > starts[1:]).any():
        raise ProtocolViolation("a row goes on behind the start of the next")
    if len(blocks) == 1:
        return blocks[0]
    return Decoded(
        arrays=tuple(
            pa.concat_arrays(parts) for parts in zip(*(block.arrays for block in blocks), strict=True)
        ),
        unchanged=tuple(
            _joined(parts, blocks) for parts in zip(*(block.unchanged for block in blocks), strict=True)
        ),
        ends=ends,
    )


def _decode_block(
    octets: Octets, starts: Positions, columns: Sequence[StoredColumn], layout: Layout
) -> Decoded:
    if (octets.read(">i2", starts) != len(columns)).any():
        raise ProtocolViolation(f"a row has another number of fields than {len(columns)}")
    cursors = starts + 2
    arrays, unchanged = [], []
    for column in columns:
        fields, cursors = walk(octets, cursors, layout)
        arrays.append(_decode_fields(column, fields))
        unchanged.append(fields.unchanged)
    return Decoded(tuple(arrays), tuple(unchanged), cursors)


def _decode_fields(column: StoredColumn, fields: Fields) -> pa.Array:
    match fields.text:
        case bool(text):
            array = _decode_values(column, fields.values, text)
        case text:
            texts = _decode_values(column, fields.values.where(text), True)
            binaries = _decode_values(column, fields.values.where(~text), False)
            order = np.argsort(np.argsort(~text, kind="stable"))
            array = pa.concat_arrays([texts, binaries]).take(pa.array(order))
    return array if fields.present is None else spread(array, fields.present)


def _decode_values(column: StoredColumn, values: Values, text: bool) -> pa.Array:
    if not len(values):
        return pa.array([], arrow_type(column.storage))
    return decode_text(column, values) if text else decode_binary(column, values)


def _joined(parts: Sequence[Mask | None], blocks: Sequence[Decoded]) -> Mask | None:
    """One mask of the masks of all blocks."""
    if all(part is None for part in parts):
        return None
    return np.concatenate(
        [
            np.zeros(len(block.ends), np.bool_) if part is None else part
            for part, block in zip(parts, blocks, strict=True)
        ]
    )
