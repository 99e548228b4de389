"""Row messages become weighted rows: an update takes the old row back and puts the new one in its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from catalog.errors import ObjectNotInState
from sources.collected import VOID, Portion, Rows
from sources.columns import Decoded, decode_rows
from sources.fields import Layout
from sources.pgoutput import DELETE, HEADER, INSERT, UPDATE
from sources.shape import Attribute
from sources.warehouse import COMMIT_LSN, IS_UPDATE, WEIGHT

_HINT: Final = "ALTER TABLE ... REPLICA IDENTITY FULL, and RESUME the standing queries that read the table."

Numbers: TypeAlias = npt.NDArray[np.int64]


def changes_of(rows: Rows, columns: Sequence[Attribute]) -> Iterator[pa.Table]:
    """The changes that rows of a table mean, a bounded part at a time."""
    done = 0
    for portion in rows.portions():
        count = len(portion.lengths)
        yield _changes(portion, rows, _commit_lsns(rows, done, done + count), columns)
        done += count


def _commit_lsns(rows: Rows, start: int, end: int) -> Numbers:
    """The position of each row's commit."""
    counts, lsns = np.array(rows.commits, np.int64).T
    found: Numbers = lsns[np.searchsorted(counts, np.arange(start, end), side="right")]
    return found


def _changes(portion: Portion, rows: Rows, lsns: Numbers, columns: Sequence[Attribute]) -> pa.Table:
    octets = np.frombuffer(portion.data, np.uint8)
    messages = np.cumsum(portion.lengths) - portion.lengths
    counting = lsns != VOID
    if rows.aborted:
        counting &= ~np.isin(_subtransactions(octets, messages), np.array(sorted(rows.aborted)))
    messages, lsns = messages[counting], lsns[counting]
    kinds = octets[messages + HEADER]
    tuples = messages + HEADER + (10 if rows.streamed else 6)
    has_old = (kinds == UPDATE) | (kinds == DELETE)
    if (octets[tuples[has_old] - 1] != ord("O")).any():
        raise ObjectNotInState("an update or delete came without its whole old row", hint=_HINT)
    stored = [column.stored for column in columns]
    old = decode_rows(portion.data, tuples[has_old], stored, Layout.PGOUTPUT)
    has_new = (kinds == UPDATE) | (kinds == INSERT)
    # The new row of an update stands behind its old one and a letter.
    tuples[has_old] = old.ends + 1
    new = decode_rows(portion.data, tuples[has_new], stored, Layout.PGOUTPUT)
    old_of = np.cumsum(has_old)[has_new] - 1
    arrays = [
        pa.concat_arrays([taken_back, _filled(new, old, i, old_of)])
        for i, taken_back in enumerate(old.arrays)
    ]
    order = np.concatenate([np.flatnonzero(has_old), np.flatnonzero(has_new)])
    weights = np.repeat(np.array([-1, 1]), [has_old.sum(), has_new.sum()])
    names = [f"a{column.number}" for column in columns]
    return pa.table(
        [*arrays, pa.array(weights), pa.array(lsns[order]), pa.array(kinds[order] == UPDATE)],
        names=[*names, WEIGHT, COMMIT_LSN, IS_UPDATE],
    )


def _subtransactions(octets: npt.NDArray[np.uint8], messages: Numbers) -> Numbers:
    at = messages[:, None] + np.arange(HEADER + 1, HEADER + 5)
    numbers: Numbers = octets[at].astype(np.int64) @ np.array([1 << 24, 1 << 16, 1 << 8, 1])
    return numbers


def _filled(new: Decoded, old: Decoded, column: int, old_of: Numbers) -> pa.Array:
    """New values; one that was not sent, because it did not change, is the old row's."""
    unchanged = new.unchanged[column]
    if unchanged is None:
        return new.arrays[column]
    count = len(unchanged)
    taken = np.where(unchanged, count + old_of, np.arange(count))
    return pa.concat_arrays([new.arrays[column], old.arrays[column]]).take(pa.array(taken))
