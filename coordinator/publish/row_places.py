"""Where the rows of a large result lie, so that those that change are not looked for in all of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt
from psycopg import Connection
from psycopg.sql import SQL, Composable

from catalog.rows import value_of

LEAST_BYTES: Final = 2 << 20
"""A smaller table is read as a whole in less time than places are looked up."""

MOST_BYTES: Final = 256 << 20
"""Of a larger table the places are not kept: they take 16 bytes a row, so 120 MB at worst."""

MOST_CHANGED: Final = 50_000
"""Of more changed rows the places are not looked up: reading the table is no longer dear beside that."""

_OFFSET_BITS: Final = 16
_COPIED: Final = np.dtype(
    [("columns", ">i2"), ("l", ">i4"), ("block", ">u4"), ("offset", ">u2"), ("m", ">i4"), ("hash", ">i8")]
)
"""A row of COPY's binary format: its place, and the hash of its text."""


@dataclass(slots=True)
class RowPlaces:
    """The places of rows by the hashes of their texts: hints, which may be wrong and incomplete.

    After a VACUUM FULL, or a transaction that was rolled back, another row may lie there, or none; so whoever
    deletes at a place compares the row too, and looks everywhere where one is missing. `hashes` are sorted,
    and None before they are read; a place of 0 is gone. `added` are those that came since, `count` how many.
    """

    hashes: npt.NDArray[np.int64] | None = None
    places: npt.NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    added: dict[int, list[int]] = field(default_factory=dict)
    count: int = 0

    @property
    def are_known(self) -> bool:
        """Whether the rows of the table have been read."""
        return self.hashes is not None

    def read(self, connection: Connection, table: Composable, hash: Composable) -> None:
        """Read the places of all rows of a table, whose row is called `t`."""
        rows = bytearray()
        query = SQL("COPY (SELECT t.ctid, {hash} FROM {table} AS t) TO STDOUT (FORMAT binary)")
        with connection.cursor().copy(query.format(hash=hash, table=table)) as copy:
            for message in copy:
                # The header stands before the first row, and the trailer is shorter than a row.
                rows += message[-_COPIED.itemsize :] if len(message) >= _COPIED.itemsize else b""
        read = np.frombuffer(rows, _COPIED)
        order = np.argsort(read["hash"], kind="stable")
        blocks, offsets = read["block"][order].astype(np.uint64), read["offset"][order].astype(np.uint64)
        self.hashes = read["hash"][order].astype(np.int64)
        self.places = (blocks << np.uint64(_OFFSET_BITS)) | offsets
        self.added, self.count = {}, 0

    def forget(self) -> None:
        """Have them read again when they are needed next."""
        self.hashes, self.places, self.added, self.count = None, np.empty(0, np.uint64), {}, 0

    def take_out(self, rows: Mapping[int, int]) -> list[str]:
        """Where so many rows with these hashes may lie, as PostgreSQL writes it; they are deleted there."""
        return [_written(place) for hash, count in rows.items() for place in self._taken_out(hash, count)]

    def _taken_out(self, hash: int, count: int) -> list[int]:
        assert self.hashes is not None
        added = self.added.get(hash, [])
        taken = [added.pop() for _ in range(min(count, len(added)))]
        self.count -= len(taken)
        if not added:
            self.added.pop(hash, None)
        first = np.searchsorted(self.hashes, hash, "left")
        places = self.places[first : np.searchsorted(self.hashes, hash, "right")]
        there = np.flatnonzero(places)[: count - len(taken)]
        taken += places[there].tolist()
        places[there] = 0
        return taken

    def note(self, rows: Iterable[tuple[int, str]]) -> None:
        """Note rows that were inserted, the hash of each and its place."""
        for hash, place in rows:
            self.added.setdefault(hash, []).append(_read(place))
            self.count += 1
        if self.count > MOST_CHANGED + len(self.places):
            self.forget()


def _written(place: int) -> str:
    return f"({place >> _OFFSET_BITS},{place % (1 << _OFFSET_BITS)})"


def _read(place: str) -> int:
    block, offset = place.strip("()").split(",")
    return int(block) << _OFFSET_BITS | int(offset)


def are_worth_keeping(connection: Connection, relation: int) -> bool:
    """Whether a table is so large that places save time, and so small that there is room for them."""
    size = value_of(connection, "SELECT pg_catalog.pg_relation_size(%s::oid)", (relation,))
    return size is not None and LEAST_BYTES <= size <= MOST_BYTES
