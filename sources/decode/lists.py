"""Arrays of PostgreSQL in binary form: their elements become one column, with the places where lists end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from catalog.errors import ProtocolViolation, ValueNotStorable
from sources.messages.octets import Mask, Positions, Values

# Dimensions, NULLs, type of the elements (int32 each); for each dimension number of elements and lower bound.
EMPTY, DIMENSION = 12, 8
MOST_DIMENSIONS = 6


@dataclass(frozen=True, slots=True, eq=False)
class Elements:
    """The elements of many arrays, those of n from bounds[n] to bounds[n + 1]; `values` are not NULL."""

    values: Values
    present: Mask
    bounds: Positions


def find_elements(column: str, lists: Values) -> Elements:
    """Where the elements of these arrays lie; an array must be a list, numbered from 1."""
    dimensions = _dimensions(lists)
    filled = lists.where(dimensions == 1)
    if (dimensions > 1).any() or (filled.read(">i4", 16) != 1).any():
        raise ValueNotStorable(column, "It is an array of several dimensions, or not numbered from 1.")
    return _elements(lists, dimensions)


def find_shaped_elements(arrays: Values) -> tuple[Elements, pa.Array]:
    """Where the elements of arrays lie, and the arrays' shapes as `Shaped` has them."""
    dimensions = _dimensions(arrays)
    starts = arrays.starts.tolist()
    shapes = []
    for start, count in zip(starts, dimensions.tolist(), strict=True):
        places = start + EMPTY + 4 * np.arange(2 * count, dtype=np.int64)
        numbers = arrays.octets.read(">i4", places).tolist()
        shapes.append([count, *numbers[::2], *numbers[1::2]])
    return _elements(arrays, dimensions), pa.array(shapes, pa.list_(pa.int32()))


def _dimensions(arrays: Values) -> Positions:
    dimensions = arrays.read(">i4").astype(np.int64)
    if (dimensions < 0).any() or (dimensions > MOST_DIMENSIONS).any():
        raise ProtocolViolation("an array has a number of dimensions that cannot be")
    return dimensions


def _elements(arrays: Values, dimensions: Positions) -> Elements:
    heads = EMPTY + DIMENSION * dimensions
    counts = np.where(dimensions > 0, 1, 0)
    for dimension in range(int(dimensions.max())):
        there = dimensions > dimension
        lengths = arrays.where(there).read(">i4", EMPTY + DIMENSION * dimension).astype(np.int64)
        if (lengths < 0).any():
            raise ProtocolViolation("an array has a negative number of elements")
        counts[there] = np.minimum(counts[there] * lengths, arrays.octets.size)
    if (arrays.lengths < heads + 4 * counts).any():
        raise ProtocolViolation("an array is shorter than its elements")
    bounds = np.concatenate([[0], np.cumsum(counts)])
    starts, lengths = _same_width(arrays, heads, counts) or _walk(arrays, heads, counts, bounds)
    present = lengths >= 0
    values = Values(arrays.octets, starts[present], lengths[present])
    return Elements(values, present, bounds)


def _same_width(lists: Values, heads: Positions, counts: Positions) -> tuple[Positions, Positions] | None:
    """Starts and lengths of all elements, if all have the width of the first and none is NULL."""
    filled = counts > 0
    first = (lists.starts + heads)[filled][:1]
    width = int(lists.octets.read(">i4", first)[0]) if len(first) else 0
    if width < 0 or (lists.lengths != heads + counts * (4 + width)).any():
        return None
    index = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    fields = np.repeat(lists.starts + heads, counts) + index * (4 + width)
    if (lists.octets.read(">i4", fields) != width).any():
        return None
    return fields + 4, np.full(len(fields), width, np.int64)


def _walk(
    lists: Values, heads: Positions, counts: Positions, bounds: Positions
) -> tuple[Positions, Positions]:
    """Positions of any elements: a cursor for each list moves over all lists' n-th elements at once."""
    starts, lengths = np.zeros(bounds[-1], np.int64), np.zeros(bounds[-1], np.int64)
    cursors, ends = lists.starts + heads, lists.starts + lists.lengths
    longest = np.argsort(-counts, kind="stable")
    for index in range(int(counts.max())):
        longest = longest[: np.searchsorted(-counts[longest], -index)]
        places, at = bounds[longest] + index, cursors[longest]
        length = lists.octets.read(">i4", at).astype(np.int64)
        starts[places], lengths[places] = at + 4, length
        cursors[longest] = at + 4 + np.maximum(length, 0)
        if (length < -1).any() or (cursors[longest] > ends[longest]).any():
            raise ProtocolViolation("an element goes on behind the end of its array")
    if (cursors != ends).any():
        raise ProtocolViolation("an array has another length than its elements")
    return starts, lengths
