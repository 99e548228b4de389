"""Rows of files in the order of their keys' hashes: what has a key is found by binary search.

A run lies in memory when it is small, else in a file without a name that is mapped: the system may take its
pages back, nobody can damage it, and it is gone with the process.
"""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain, pairwise
from pathlib import Path
from typing import IO, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from executors.rows import WEIGHT

KEY_HASH: Final = "key_hash"
FILE_NUMBER: Final = "file_number"

MOST_IN_MEMORY: Final = 8 << 20
"""Runs of more bytes are written to a file."""

MOST_SORTED: Final = 4_000_000
"""More rows than these are not sorted at a time, which bounds the memory for it."""

FEW_KEYS: Final = 8
"""Where fewer rows than these come to a key, all rows are taken, which costs less than looking for them."""

Hashes: TypeAlias = npt.NDArray[np.uint64]
Alive: TypeAlias = npt.NDArray[np.int32]
"""The numbers of the files whose rows are wanted."""


class SortedRun:
    """Batches of rows, sorted by `KEY_HASH` throughout, each row with the number of its file."""

    def __init__(self, batches: Sequence[pa.RecordBatch]) -> None:
        self._batches = [batch for batch in batches if batch.num_rows]
        self._hashes = [batch.column(KEY_HASH).to_numpy() for batch in self._batches]
        self._files = [batch.column(FILE_NUMBER).to_numpy() for batch in self._batches]
        self.rows: int = sum(batch.num_rows for batch in self._batches)
        self.bytes: int = sum(batch.nbytes for batch in self._batches)

    @staticmethod
    def of(batches: Iterable[pa.RecordBatch], directory: Path) -> SortedRun:
        """A run of sorted batches, which are written to a file as soon as they are many."""
        waiting: list[pa.RecordBatch] = []
        size = 0
        batches = iter(batches)
        for batch in batches:
            waiting.append(batch)
            size += batch.nbytes
            if size > MOST_IN_MEMORY:
                return SortedRun(_mapped(chain(waiting, batches), waiting[0].schema, directory))
        return SortedRun(waiting)

    def find(self, hashes: Hashes, alive: Alive, columns: Sequence[str]) -> list[pa.RecordBatch]:
        """The rows of files that are alive with one of these hashes, which are sorted; and perhaps others."""
        batches = []
        for batch, present, files in zip(self._batches, self._hashes, self._files, strict=True):
            start = np.searchsorted(hashes, present[0], "left")
            end = np.searchsorted(hashes, present[-1], "right")
            wanted = hashes[start:end]
            if not wanted.size:
                continue
            if wanted.size * FEW_KEYS > present.size:
                batches.append(batch.select(columns).filter(_is_alive(files, alive)))
                continue
            places = _places(present, wanted)
            places = places[np.isin(files[places], alive)]
            if places.size:
                batches.append(batch.select(columns).take(pa.array(places)))
        return batches

    def living(self, alive: Alive) -> pa.Table | None:
        """All rows of files that are alive; None where there are none."""
        kept = [
            batch.filter(_is_alive(files, alive))
            for batch, files in zip(self._batches, self._files, strict=True)
        ]
        return pa.Table.from_batches(kept) if kept else None


def sorted_parts(batches: Iterable[pa.RecordBatch], rows: int, directory: Path) -> Iterator[pa.RecordBatch]:
    """Many unsorted rows as sorted batches: there is a file for each range of hashes, sorted by itself."""
    bits = (2 * rows // MOST_SORTED).bit_length()
    with ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile(dir=directory)) for _ in range(1 << bits)]
        writers: dict[int, pa.RecordBatchFileWriter] = {}
        for batch in batches:
            for part, its_rows in _parted(batch, bits):
                if part not in writers:
                    writers[part] = pa.ipc.new_file(files[part], batch.schema)
                writers[part].write_batch(its_rows)
        for part in sorted(writers):
            writers[part].close()
            yield from _sorted(pa.Table.from_batches(_batches_in(files[part])))


def _parted(batch: pa.RecordBatch, bits: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows by the first bits of their hashes."""
    parts = (batch.column(KEY_HASH).to_numpy() >> np.uint64(64 - bits)).astype(np.int64)
    ordered = batch.take(pa.array(np.argsort(parts, kind="stable")))
    ends = np.cumsum(np.bincount(parts, minlength=1 << bits)).tolist()
    for part, (start, end) in enumerate(pairwise([0, *ends])):
        if start < end:
            yield part, ordered.slice(start, end - start)


def merged(runs: Sequence[SortedRun], alive: Alive, directory: Path) -> SortedRun:
    """One run of all rows that are alive."""
    tables = [table for run in runs if (table := run.living(alive)) is not None]
    if not tables:
        return SortedRun([])
    return SortedRun.of(_sorted(pa.concat_tables(tables)), directory)


def run_columns(columns: Iterable[str]) -> list[str]:
    """The columns of a run: those of the files, the weight, and what a look-up needs."""
    return [*columns, WEIGHT, FILE_NUMBER, KEY_HASH]


def _sorted(rows: pa.Table) -> Sequence[pa.RecordBatch]:
    order = np.argsort(rows[KEY_HASH].to_numpy(), kind="stable")
    batches: Sequence[pa.RecordBatch] = rows.take(pa.array(order)).combine_chunks().to_batches()
    return batches


def _is_alive(files: npt.NDArray[np.int32], alive: Alive) -> pa.Array:
    return pa.array(np.isin(files, alive))


def _places(present: Hashes, wanted: Hashes) -> npt.NDArray[np.int64]:
    """The places of all rows with the wanted hashes; both are sorted."""
    first = np.searchsorted(present, wanted, "left")
    counts = np.searchsorted(present, wanted, "right") - first
    before = np.cumsum(counts) - counts
    return np.repeat(first - before, counts) + np.arange(int(counts.sum()), dtype=np.int64)


def _mapped(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, directory: Path
) -> Sequence[pa.RecordBatch]:
    with tempfile.TemporaryFile(dir=directory) as file:
        with pa.ipc.new_file(file, schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
        return _batches_in(file)


def _batches_in(file: IO[bytes]) -> Sequence[pa.RecordBatch]:
    """The batches of a file that was written, mapped: they stay when it is closed."""
    file.flush()
    content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    reader = pa.ipc.open_file(pa.BufferReader(pa.py_buffer(content)))
    return [reader.get_batch(number) for number in range(reader.num_record_batches)]
