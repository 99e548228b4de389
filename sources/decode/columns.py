"""Rows as PostgreSQL sends them become Arrow columns: all rows at once, one column after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from catalog.errors import ProtocolViolation, ValueNotStorable
from catalog.postgres.storage import StoredColumn
from sources.decode.arrow import arrow_type
from sources.decode.binary import decode_binary
from sources.decode.nulls import spread
from sources.decode.shown_value import shown
from sources.decode.text import decode_text
from sources.decode.unstorable import joined
from sources.messages.fields import Fields, Layout, walk
from sources.messages.octets import Mask, Octets, Positions, Values

# So many rows at once that their bytes and the working arrays stay in the processor's caches.
BLOCK_ROWS = 16_384


@dataclass(frozen=True, slots=True, eq=False)
class Decoded:
    """Decoded rows: each column's values, which of them were not sent because unchanged, where the rows end.

    A value that was not sent is NULL; a mask is None where all were sent. One that cannot be stored is NULL,
    too, and `reasons` says why; these are None where all can be.
    """

    arrays: tuple[pa.Array, ...]
    unchanged: tuple[Mask | None, ...]
    ends: Positions
    reasons: tuple[pa.Array | None, ...]


def decode_rows(
    data: bytes | memoryview, starts: Positions, columns: Sequence[StoredColumn], layout: Layout
) -> Decoded:
    """The rows that start at these ascending positions of less than 2 GiB.

    The session that sends them is one of `sources.server.session`. Bytes that are no such rows raise
    ProtocolViolation.
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
    reasons = zip(*(block.reasons for block in blocks), strict=True)
    lengths = [len(block.ends) for block in blocks]
    return Decoded(
        arrays=tuple(map(pa.concat_arrays, arrays)),
        unchanged=tuple(_joined(masks, blocks) for masks in unchanged),
        ends=np.concatenate([block.ends for block in blocks]),
        reasons=tuple(joined(parts, lengths) for parts in reasons),
    )


def _decode_block(
    octets: Octets, starts: Positions, limits: Positions, columns: Sequence[StoredColumn], layout: Layout
) -> Decoded:
    """Rows each of which ends before its limit; the values of a column then lie in ascending order."""
    if (octets.read(">i2", starts) != len(columns)).any():
        raise ProtocolViolation(f"a row has another number of fields than {len(columns)}")
    cursors, fields = starts + 2, []
    for _ in columns:
        column_fields, cursors = walk(octets, cursors, layout)
        fields.append(column_fields)
    if (cursors > limits).any():
        raise ProtocolViolation("a row goes on behind the start of the next")
    decoded = [_decode_fields(*pair) for pair in zip(columns, fields, strict=True)]
    return Decoded(
        arrays=tuple(column.array for column in decoded),
        unchanged=tuple(column.unchanged for column in fields),
        ends=cursors,
        reasons=tuple(column.reasons for column in decoded),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """Values of a column, and why those that are NULL instead cannot be stored; None where all can."""

    array: pa.Array
    reasons: pa.Array | None = None

    def then(self, other: _Column) -> _Column:
        """These values and reasons, and the other's behind them."""
        lengths = len(self.array), len(other.array)
        reasons = joined((self.reasons, other.reasons), lengths)
        return _Column(pa.concat_arrays([self.array, other.array]), reasons)

    def map(self, change: Callable[[pa.Array], pa.Array]) -> _Column:
        """The values and the reasons, changed in the same way."""
        return _Column(change(self.array), None if self.reasons is None else change(self.reasons))


def _decode_fields(column: StoredColumn, fields: Fields) -> _Column:
    match fields.text:
        case bool(text):
            decoded = _decode_values(column, fields.values, text)
        case text:
            texts = _decode_values(column, fields.values.where(text), True)
            binaries = _decode_values(column, fields.values.where(~text), False)
            order = pa.array(np.argsort(np.argsort(~text, kind="stable")))
            decoded = texts.then(binaries).map(lambda array: array.take(order))
    present = fields.present
    return decoded if present is None else decoded.map(lambda array: spread(array, present))


def _decode_values(column: StoredColumn, values: Values, text: bool) -> _Column:
    """Where one cannot be stored, the others can: it is looked for in halves."""
    if not len(values) or not column.kept:
        return _Column(pa.nulls(len(values), arrow_type(column.storage)))
    try:
        return _Column(decode_text(column, values) if text else decode_binary(column, values))
    except ValueNotStorable as error:
        if len(values) == 1:
            value = shown(column, values, text)
            reason = error.detail if value is None else f"{error.detail} The value is {value}."
            return _Column(pa.nulls(1, arrow_type(column.storage)), pa.array([reason], pa.string()))
    first = np.arange(len(values)) < len(values) // 2
    return _decode_values(column, values.where(first), text).then(
        _decode_values(column, values.where(~first), text)
    )


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
