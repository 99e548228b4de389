"""Turns row messages into weighted rows: an update is the old row with weight -1 and the new one with +1."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from catalog.postgres.shape import Attribute
from catalog.postgres.storage import StoredColumn
from sources.decode.columns import Decoded, decode_rows
from sources.decode.unstorable import joined, reasons_of, with_reasons
from sources.messages.counted_messages import Messages, messages_of
from sources.messages.fields import Layout
from sources.messages.pgoutput import DELETE, INSERT, UPDATE
from sources.messages.row_messages import RowMessages
from sources.old_rows.lookup import Lookup
from sources.warehouse.warehouse import COMMIT_LSN, IS_UPDATE, WEIGHT

_WHOLE: Final = ord("O")


def changes_of(
    rows: RowMessages,
    columns: Sequence[Attribute],
    known: int,
    lookup: Lookup | None,
    on_missing_old_row: Callable[[], None],
    places: Sequence[int] = (),
) -> Iterator[pa.Table]:
    """The weighted rows of a table's messages behind the position `known`, a bounded part at a time.

    Old rows are sent, or looked up. Otherwise `on_missing_old_row` raises, or these changes are left out.
    `places`: where the columns stand in the rows of a partition, if not in the same order.
    """
    stored = [column.stored for column in columns]
    order = tuple(places or range(len(columns)))
    sent = [column for _place, column in sorted(zip(order, stored, strict=True), key=lambda pair: pair[0])]
    for messages in messages_of(rows):
        if lookup is None:
            unknown = messages.behind(known)
            complete = unknown.where((unknown.kinds == INSERT) | (unknown.letters() == _WHOLE))
            if len(complete) < len(unknown):
                on_missing_old_row()
            old, new = _decoded(complete, sent)
            yield _table(complete, _arranged(old, order), _arranged(new, order), columns)
        else:
            for part, olds, news in lookup.completed(messages):
                before = decode_rows(olds.data, olds.starts, stored, Layout.PGOUTPUT)
                after = decode_rows(news.data, news.starts, stored, Layout.PGOUTPUT)
                table = _table(part, before, after, columns)
                yield table if part.lsns[0] > known else table.filter(pc.field(COMMIT_LSN) > known)


def _decoded(messages: Messages, stored: Sequence[StoredColumn]) -> tuple[Decoded, Decoded]:
    """The old rows, if there are any, followed by the new rows."""
    has_old, has_new = messages.kinds != INSERT, messages.kinds != DELETE
    old = decode_rows(messages.octets.data, messages.tuples[has_old], stored, Layout.PGOUTPUT)
    starts = messages.tuples.copy()
    # The new row of an update stands behind its old one and a letter.
    starts[has_old] = old.ends + 1
    return old, decode_rows(messages.octets.data, starts[has_new], stored, Layout.PGOUTPUT)


def _arranged(rows: Decoded, order: Sequence[int]) -> Decoded:
    """The rows with their columns in this order."""
    return replace(
        rows,
        arrays=tuple(rows.arrays[place] for place in order),
        unchanged=tuple(rows.unchanged[place] for place in order),
        reasons=tuple(rows.reasons[place] for place in order),
    )


def _table(messages: Messages, old: Decoded, new: Decoded, columns: Sequence[Attribute]) -> pa.Table:
    kinds = messages.kinds
    has_old, has_new = kinds != INSERT, kinds != DELETE
    old_of = np.cumsum(has_old)[has_new] - 1
    arrays = [
        pa.concat_arrays([taken_back, _filled(new, old, i, old_of)])
        for i, taken_back in enumerate(old.arrays)
    ]
    order = np.concatenate([np.flatnonzero(has_old), np.flatnonzero(has_new)])
    weights = np.repeat(np.array([-1, 1]), [has_old.sum(), has_new.sum()])
    names = [f"a{column.number}" for column in columns]
    table = pa.table(
        [*arrays, pa.array(weights), pa.array(messages.lsns[order]), pa.array(kinds[order] == UPDATE)],
        names=[*names, WEIGHT, COMMIT_LSN, IS_UPDATE],
    )
    lengths = int(has_old.sum()), int(has_new.sum())
    reasons = {
        name: joined((old.reasons[i], _filled_reasons(new, old, i, old_of)), lengths)
        for i, name in enumerate(names)
    }
    return with_reasons(table, reasons_of(len(order), reasons))


def _filled_reasons(
    new: Decoded, old: Decoded, column: int, old_of: npt.NDArray[np.int64]
) -> pa.Array | None:
    """Why new values cannot be stored; a value that was not sent is that of the old row."""
    unchanged = new.unchanged[column]
    if unchanged is None:
        return new.reasons[column]
    count = len(unchanged)
    both = joined((new.reasons[column], old.reasons[column]), (count, len(old.ends)))
    return (
        None if both is None else both.take(pa.array(np.where(unchanged, count + old_of, np.arange(count))))
    )


def _filled(new: Decoded, old: Decoded, column: int, old_of: npt.NDArray[np.int64]) -> pa.Array:
    """New values; one that was not sent, because it did not change, is taken from the old row."""
    unchanged = new.unchanged[column]
    if unchanged is None:
        return new.arrays[column]
    count = len(unchanged)
    taken = np.where(unchanged, count + old_of, np.arange(count))
    return pa.concat_arrays([new.arrays[column], old.arrays[column]]).take(pa.array(taken))
