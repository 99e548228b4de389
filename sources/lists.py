"""Arrays of PostgreSQL in binary form: their elements become one column, with the places where lists end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from catalog.errors import ProtocolViolation, ValueNotStorable
from sources.octets import Mask, Positions, Values

# Dimensions, NULLs, type of the elements (int32 each); for each dimension number of elements and lower bound.
EMPTY, HEADER = 12, 20


@dataclass(frozen=True, slots=True, eq=False)
class Elements:
    """The elements of many lists, those of list n from bounds[n] to bounds[n + 1]; `values` are not NULL."""

    values: Values
    present: Mask
    bounds: Positions


def find_elements(column: str, lists: Values) -> Elements:
    """Where the elements of these arrays lie; an array must be a list, numbered from 1."""
    counts = _counts(column, lists)
    bounds = np.concatenate([[0], np.cumsum(counts)])
    starts, lengths = _same_width(lists, counts) or _walk(lists, counts, bounds)
    present = lengths >= 0
    values = Values(lists.octets, starts[present], lengths[present])
    return Elements(values, present, bounds)


def _counts(column: str, lists: Values) -> Positions:
    dimensions = lists.read(">i4")
    counts = np.zeros(len(lists), np.int64)
    filled = lists.where(dimensions == 1)
    if (dimensions > 1).any() or (filled.read(">i4", 16) != 1).any():
        raise ValueNotStorable(column, "It is an array of several dimensions, or not numbered from 1.")
    counts[dimensions == 1] = filled.read(">i4", 12)
    least = np.where(dimensions == 1, HEADER + 4 * counts, EMPTY)
    if (dimensions < 0).any() or (counts < 0).any() or (lists.lengths < least).any():
        raise ProtocolViolation("an array is shorter than its elements")
    return counts


def _same_width(lists: Values, counts: Positions) -> tuple[Positions, Positions] | None:
    """Starts and lengths of all elements, if all have the width of the first and none is NULL."""
    filled = counts > 0
    first = lists.starts[filled][:1] + HEADER
    width = int(lists.octets.read(">i4", first)[0]) if len(first) else 0
    if width < 0 or (lists.lengths != np.where(filled, HEADER + counts * (4 + width), EMPTY)).any():
        return None
    index = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    fields = np.repeat(lists.starts + HEADER, counts) + index * (4 + width)
    if (lists.octets.read(">i4", fields) != width).any():
        return None
    return fields + 4, np.full(len(fields), width, np.int64)


def _walk(lists: Values, counts: Positions, bounds: Positions) -> tuple[Positions, Positions]:
    """The same for any elements: a cursor for each list moves over all lists' n-th elements at once."""
    starts, lengths = np.zeros(bounds[-1], np.int64), np.zeros(bounds[-1], np.int64)
    cursors, ends = lists.starts + np.where(counts > 0, HEADER, EMPTY), lists.starts + lists.lengths
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
