"""Row messages that count: those rolled back, or undone by a TRUNCATE, are left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from sources.messages.octets import Mask, Octets
from sources.messages.pgoutput import HEADER
from sources.messages.row_messages import VOID, Portion, RowMessages

Numbers: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Messages:
    """Messages of one table: the kind of each, where its first row begins, where it ends, and its commit."""

    octets: Octets
    kinds: npt.NDArray[np.uint8]
    tuples: Numbers
    ends: Numbers
    lsns: Numbers

    def __len__(self) -> int:
        return len(self.kinds)

    def where(self, some: slice | Mask) -> Messages:
        """The messages that the slice or mask picks out."""
        return Messages(self.octets, self.kinds[some], self.tuples[some], self.ends[some], self.lsns[some])

    def behind(self, position: int) -> Messages:
        """The messages that were committed behind a position."""
        return self.where(slice(int(np.searchsorted(self.lsns, position, side="right")), None))

    def letters(self) -> npt.NDArray[np.uint8]:
        """The kind of the first row of each: old (O), the key of an old one (K), or new (N)."""
        letters: npt.NDArray[np.uint8] = self.octets.read("u1", self.tuples - 1)
        return letters


def messages_of(rows: RowMessages) -> Iterator[Messages]:
    """The messages of a table, a bounded part at a time."""
    done = 0
    for portion in rows.portions():
        count = len(portion.lengths)
        yield _counting(portion, rows, _commit_lsns(rows, done, done + count))
        done += count


def _counting(portion: Portion, rows: RowMessages, lsns: Numbers) -> Messages:
    octets = Octets(portion.data)
    ends = np.cumsum(portion.lengths)
    starts = ends - portion.lengths
    counting = lsns != VOID
    if rows.aborted:
        within = octets.read(">u4", starts + HEADER + 1)
        counting &= ~np.isin(within, np.array(sorted(rows.aborted)))
    starts = starts[counting]
    return Messages(
        octets=octets,
        kinds=octets.read("u1", starts + HEADER),
        tuples=starts + HEADER + (10 if rows.streamed else 6),
        ends=ends[counting],
        lsns=lsns[counting],
    )


def _commit_lsns(rows: RowMessages, start: int, end: int) -> Numbers:
    """The position of each row's commit."""
    counts, lsns = np.array(rows.commits, np.int64).T
    positions: Numbers = lsns[np.searchsorted(counts, np.arange(start, end), side="right")]
    return positions
