"""The fields of many rows, column by column: the cursors of all rows move over one field at once."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import assert_never

import numpy as np

from catalog.errors import ProtocolViolation
from sources.messages.octets import Mask, Octets, Positions, Values

NULL, UNCHANGED, TEXT, BINARY = b"nutb"


class Layout(Enum):
    """How a row is laid out: both count the fields first (int16)."""

    PGOUTPUT = "a kind (NULL, unchanged, text or binary); for the latter two a length and the bytes"
    COPY = "a length, -1 for NULL, and the bytes"


@dataclass(frozen=True, slots=True, eq=False)
class Fields:
    """One column's fields; a mask is None where it would be the same for all rows.

    `present`: the rows that have a value, in `values`. `text`: which of these are in text form.
    """

    values: Values
    present: Mask | None
    unchanged: Mask | None
    text: Mask | bool


def walk(octets: Octets, cursors: Positions, layout: Layout) -> tuple[Fields, Positions]:
    """The field at each cursor, and the cursors behind it."""
    match layout:
        case Layout.PGOUTPUT:
            return _walk_pgoutput(octets, cursors)
        case Layout.COPY:
            return _walk_copy(octets, cursors)
        case _:
            assert_never(layout)


def _walk_pgoutput(octets: Octets, cursors: Positions) -> tuple[Fields, Positions]:
    kinds = octets.read("u1", cursors)
    if len(kinds) and kinds[0] in (TEXT, BINARY) and (kinds == kinds[0]).all():
        values = _values(octets, cursors + 1)
        return Fields(values, None, None, bool(kinds[0] == TEXT)), values.starts + values.lengths
    text, unchanged = kinds == TEXT, kinds == UNCHANGED
    present = text | (kinds == BINARY)
    if not (present | unchanged | (kinds == NULL)).all():
        raise ProtocolViolation("a field is of a kind that does not exist")
    values = _values(octets, cursors[present] + 1)
    after = cursors + 1
    after[present] = values.starts + values.lengths
    return Fields(values, present, unchanged if unchanged.any() else None, text[present]), after


def _walk_copy(octets: Octets, cursors: Positions) -> tuple[Fields, Positions]:
    present = octets.read(">i4", cursors) != -1
    if present.all():
        values = _values(octets, cursors)
        return Fields(values, None, None, False), values.starts + values.lengths
    values = _values(octets, cursors[present])
    after = cursors + 4
    after[present] = values.starts + values.lengths
    return Fields(values, present, None, False), after


def _values(octets: Octets, cursors: Positions) -> Values:
    """The values whose lengths stand at the cursors."""
    lengths = octets.read(">i4", cursors).astype(np.int64)
    starts = cursors + 4
    if len(lengths) and (lengths.min() < 0 or (starts + lengths).max() > octets.size):
        raise ProtocolViolation("a field has a length that cannot be")
    return Values(octets, starts, lengths)
