"""Bytes that came from PostgreSQL, and where values lie in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from catalog.errors import ProtocolViolation

Positions: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]


class Octets:
    """A buffer read at many positions at once; every position is checked against its end."""

    def __init__(self, data: bytes | memoryview) -> None:
        self.data = data
        self.size = len(data)
        assert self.size < 1 << 31, "offsets into the buffer have 32 bits"

    def read(self, kind: str, positions: Positions) -> NDArray[Any]:
        """The number of this NumPy type (`>i4`: four bytes, big-endian, signed) at each of the positions."""
        count = max(self.size - np.dtype(kind).itemsize + 1, 0)
        overlapping: NDArray[Any] = np.ndarray((count,), kind, self.data if count else b"", 0, (1,))
        try:
            return overlapping[positions]
        except IndexError:
            raise ProtocolViolation("a row goes on behind the end of the bytes received") from None


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """At least one value, none of them NULL, in the order of their positions; all end within the buffer."""

    octets: Octets
    starts: Positions
    lengths: Positions

    def __len__(self) -> int:
        return len(self.starts)

    def read(self, kind: str, offset: int = 0) -> NDArray[Any]:
        """The number at this offset of each value."""
        return self.octets.read(kind, self.starts + offset)

    def numbers(self, kind: str) -> NDArray[Any]:
        """The values, each of which is a number of this type, in the processor's order of bytes."""
        wanted = np.dtype(kind)
        self.require_length(wanted.itemsize)
        return self.read(kind).astype(wanted.newbyteorder("="))

    def require_length(self, octets: int) -> None:
        """Each value has this length."""
        if (self.lengths != octets).any():
            raise ProtocolViolation(f"a value has another length than {octets}")

    def where(self, mask: Mask) -> Values:
        """Some of the values."""
        return Values(self.octets, self.starts[mask], self.lengths[mask])

    def gather(self) -> pa.Array:
        """The bytes of each value.

        Arrow gets the whole buffer as alternating values and gaps, and copies the values.
        """
        count = len(self)
        bounds = np.empty(2 * count + 1, np.int32)
        bounds[0:-1:2] = self.starts
        bounds[1::2] = self.starts + self.lengths
        bounds[-1] = bounds[-2]
        buffers = [None, pa.py_buffer(bounds), pa.py_buffer(self.octets.data)]
        return pa.Array.from_buffers(pa.binary(), 2 * count, buffers).take(
            pa.array(np.arange(0, 2 * count, 2, dtype=np.int32))
        )
