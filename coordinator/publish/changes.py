"""The changed rows of a result on their way into its table, a part of them in memory at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from executors.rows import summed
from sources.warehouse.warehouse import WEIGHT

SLICE_ROWS: Final = 100_000
MOST_SUMMED_BYTES: Final = 256 << 20
_SLICE_BYTES: Final = 16 << 20
"""What is turned into text for COPY at a time."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Changed rows: the stored columns, then `weight`. `only_added`: none of them is known to be taken back.

    `slices` gives all of them, and may be called again.
    """

    rows: int
    only_added: bool
    slices: Callable[[], Iterator[pa.Table]]

    @staticmethod
    def of(table: pa.Table) -> Changes:
        """Rows that are in memory."""
        only_added = bool(pc.all(pc.greater(table[WEIGHT], 0), min_count=0).as_py())
        return Changes(table.num_rows, only_added, lambda: iter((table,)))

    def summed(self) -> Changes:
        """The changes of several runs without what they took back of each other.

        They stay as they are where they take much memory, or have values that Arrow does not compare; who
        writes them adds equal rows up in any case.
        """
        tables, bytes = list[pa.Table](), 0
        for slice in self.slices():
            tables.append(slice)
            bytes += slice.nbytes
            if bytes > MOST_SUMMED_BYTES or any(map(pa.types.is_nested, slice.schema.types)):
                return self
        if not tables:
            return self
        rows = pa.concat_tables(tables)
        return Changes.of(summed(rows).select(rows.column_names).cast(rows.schema))

    def pieces(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """All of these columns, so little at a time that its text fits into memory."""
        for slice in self.slices():
            rows = slice.select(columns)
            width = rows.nbytes // max(1, rows.num_rows) + 1
            step = max(1, min(SLICE_ROWS, _SLICE_BYTES // width))
            for start in range(0, rows.num_rows, step):
                yield rows.slice(start, step)
