"""Rows as PostgreSQL's COPY sends them."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from psycopg import errors, pq

_SIGNATURE: Final = b"PGCOPY\n\xff\r\n\0"
_HEADER_BYTES: Final = len(_SIGNATURE) + 8
_TRAILER: Final = b"\xff\xff"


@dataclass(frozen=True, slots=True)
class CopiedRows:
    """Consecutive tuples of COPY's binary format, and where each begins."""

    data: bytes
    starts: npt.NDArray[np.int64]


def copy_rows(connection: pq.abc.PGconn, query: bytes, size: int) -> Iterator[CopiedRows]:
    """The rows of a query, in portions of a little more than `size` bytes."""
    started = connection.exec_(b"COPY (" + query + b") TO STDOUT (FORMAT binary)")
    if started.status != pq.ExecStatus.COPY_OUT:
        raise errors.error_from_result(started)
    data, starts = bytearray(), array("q")
    for row in _rows(connection):
        starts.append(len(data))
        data += row
        if len(data) >= size:
            portion = CopiedRows(bytes(data), np.array(starts, np.int64))
            # Else they would take memory while the portion is decoded.
            data, starts = bytearray(), array("q")
            yield portion
            del portion
    if starts:
        yield CopiedRows(bytes(data), np.array(starts, np.int64))


def _rows(connection: pq.abc.PGconn) -> Iterator[memoryview]:
    """The rows: every message is one, but the first has the header before it and the last is the trailer."""
    receive = connection.get_copy_data
    length, row = receive(0)
    if length > 0:
        row = _behind_header(row)
    while length > 0:
        if len(row) != len(_TRAILER) or bytes(row) != _TRAILER:
            yield row
        length, row = receive(0)
    while (ended := connection.get_result()) is not None:
        if ended.status != pq.ExecStatus.COMMAND_OK:
            raise errors.error_from_result(ended)


def _behind_header(message: memoryview) -> memoryview:
    assert bytes(message[: len(_SIGNATURE)]) == _SIGNATURE
    extension = int.from_bytes(message[_HEADER_BYTES - 4 : _HEADER_BYTES], "big")
    return message[_HEADER_BYTES + extension :]
