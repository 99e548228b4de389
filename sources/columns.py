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
    octets, limits = Octets(data), np.append(starts[1:], len(data))
    blocks = [
        _decode_block(octets, starts[low : low + BLOCK_ROWS], limits[low : low + BLOCK_ROWS], columns, layout)
        for low in range(0, max(len(starts), 1), BLOCK_ROWS)
    ]
    if len(blocks) == 1:
        return blocks[0]
    arrays = zip(*(block.arrays for block in blocks), strict=True)
    unchanged = zip(*(block.unchanged for block in blocks), strict=True)
    return Decoded(
        arrays=tuple(map(pa.concat_arrays, arrays)),
        unchanged=tuple(_joined(masks, blocks) for masks in unchanged),
        ends=np.concatenate([block.ends for block in blocks]),
    )


def _decode_block(
    octets: Octets, starts: Positions, limits: Positions, columns: Sequence[StoredColumn], layout: Layout
) -> Decoded:
    """Rows each of which ends before its limit; the values of a column then lie in ascending order."""
    if (octets.read(">i2", starts) != len(columns)).any():
        raise ProtocolViolation(f"a row has another number of fields than {len(columns)}")
    cursors, fields = starts + 2, []
    for _ in columns:
        found, cursors = walk(octets, cursors, layout)
        fields.append(found)
    if (cursors > limits).any():
        raise ProtocolViolation("a row goes on behind the start of the next")
    return Decoded(
        arrays=tuple(_decode_fields(*pair) for pair in zip(columns, fields, strict=True)),
        unchanged=tuple(found.unchanged for found in fields),
        ends=cursors,
    )


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
    if not len(values) or not column.kept:
        return pa.nulls(len(values), arrow_type(column.storage))
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
