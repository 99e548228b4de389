"""Writes batches again without the rows that cancel out, up to a whole log, in bounded memory.

Rows are first divided by the value of one column, on the disk, so that equal rows come together; then one
part after the other is summed up. Batches of one part have narrow bounds in that column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catalog.capture.batch import Batch
from sources.decode.unstorable import UNSTORABLE
from sources.warehouse.merging import consolidated, in_columns, reach, summed
from sources.warehouse.warehouse import CONTROL, Warehouse

PART_ROWS: Final = 500_000
PART_BYTES: Final = 32 << 20
"""Size of the parts, as rows and as bytes of Parquet."""

_SAMPLED_BATCHES: Final = 8
_SAMPLED_ROWS: Final = 2_000


class Unwanted(Exception):
    """Nobody wants the outcome any more."""


@dataclass(frozen=True, slots=True)
class _Division:
    """The column whose values tell the part of a row, and the least values of all parts but the first."""

    column: str
    least: Sequence[Any]

    def parts(self, rows: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        """The rows of all parts that have some."""
        numbers = np.zeros(rows.num_rows, np.int32)
        for value in self.least:
            numbers += pc.fill_null(pc.greater_equal(rows.column(self.column), value), False).to_numpy()
        ordered = rows.take(pa.array(np.argsort(numbers, kind="stable")))
        counts = np.bincount(numbers, minlength=len(self.least) + 1)
        begin = 0
        for number, count in enumerate(counts.tolist()):
            if count:
                yield number, ordered.slice(begin, count)
            begin += count


def rewritten(
    warehouse: Warehouse, batches: Sequence[Batch], scratch: Path, go_on: Callable[[], bool] = lambda: True
) -> tuple[Batch, ...]:
    """Batches with the sum of these; an error, or who does not want them any more, leaves none behind."""
    rows, size = sum(batch.rows for batch in batches), sum(batch.bytes for batch in batches)
    division = None
    if (parts := max(rows // PART_ROWS, size // PART_BYTES) + 1) > 1:
        division = _division(warehouse, batches, parts)
    if division is None:
        return summed(warehouse, batches)
    sealed: list[Batch] = []
    start, end = reach(batches)
    scratch.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        with TemporaryDirectory(dir=scratch) as directory:
            for file in _divided(warehouse, batches, division, Path(directory), go_on):
                _require(go_on)
                table = _consolidated(file)
                if table.num_rows:
                    buffer, version = batches[0].buffer, batches[0].schema_version
                    sealed.append(warehouse.seal(buffer, table, start, end, version))
    except BaseException:
        warehouse.remove(batch.file for batch in sealed)
        raise
    return tuple(sealed)


def _require(go_on: Callable[[], bool]) -> None:
    if not go_on():
        raise Unwanted


def _divided(
    warehouse: Warehouse,
    batches: Sequence[Batch],
    division: _Division,
    directory: Path,
    go_on: Callable[[], bool],
) -> list[Path]:
    """A file with the rows of each part."""
    files = [directory / f"{number}.arrow" for number in range(len(division.least) + 1)]
    has_reasons = any(batch.unstorable for batch in batches)
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with ExitStack() as ending:
        writers: dict[int, pa.RecordBatchStreamWriter] = {}
        for batch in batches:
            _require(go_on)
            rows = in_columns(warehouse.read(batch), has_reasons)
            for number, part in division.parts(rows):
                if number not in writers:
                    stream = pa.ipc.new_stream(str(files[number]), rows.schema, options=options)
                    writers[number] = ending.enter_context(stream)
                writers[number].write_table(part)
    return [files[number] for number in sorted(writers)]


def _consolidated(file: Path) -> pa.Table:
    """The sum of a part's rows; of one that many rows share, what is read so far is summed up in between."""
    with pa.ipc.open_stream(pa.memory_map(str(file))) as stream:
        sums, read = stream.schema.empty_table(), list[pa.RecordBatch]()
        for rows in stream:
            read.append(rows)
            if sum(part.num_rows for part in read) >= 2 * PART_ROWS + sums.num_rows:
                sums, read = consolidated(pa.concat_tables([sums, pa.Table.from_batches(read)])), []
        return consolidated(pa.concat_tables([sums, pa.Table.from_batches(read, stream.schema)]))


def _division(warehouse: Warehouse, batches: Sequence[Batch], parts: int) -> _Division | None:
    """A division by the column of which most values differ; None if no column has any that differ."""
    largest = sorted(batches, key=lambda batch: batch.rows)[-_SAMPLED_BATCHES:]
    sample = pa.concat_tables(
        [_sampled(warehouse.read(batch)) for batch in largest], promote_options="permissive"
    )
    counts = {
        field.name: pc.count_distinct(sample.column(field.name)).as_py()
        for field in sample.schema
        if field.name not in (*CONTROL, UNSTORABLE) and _divides(field.type)
    }
    best = max(counts, key=lambda name: counts[name], default=None)
    if best is None or counts[best] < 2:
        return None
    values = sample.column(best).drop_null()
    values = values.take(pc.sort_indices(values))
    places = [len(values) * number // parts for number in range(1, parts)]
    return _Division(best, pc.unique(values.take(pa.array(places))).to_pylist())


def _divides(type: pa.DataType) -> bool:
    """Whether equal values of the type are in the same order as Arrow compares them."""
    return not (pa.types.is_floating(type) or pa.types.is_nested(type) or pa.types.is_boolean(type))


def _sampled(rows: pa.Table) -> pa.Table:
    step = max(rows.num_rows // _SAMPLED_ROWS, 1)
    return rows.take(pa.array(np.arange(0, rows.num_rows, step)))
