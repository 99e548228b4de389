"""Batches of changes as the manifest names them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Bound: TypeAlias = bool | int | float | str


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and the greatest value of a column of a batch, NULLs apart.

    Decimals are text, dates count days, times and timestamps microseconds from 1970; text is in
    the order of its bytes. `nulls`: there may be NULLs.
    """

    least: Bound
    greatest: Bound
    nulls: bool = True


@dataclass(frozen=True, slots=True)
class Batch:
    """A sealed file of a buffer: changes with from_offset < commit_lsn <= to_offset.

    `file` is relative to the warehouse. A column without `bounds` may hold anything. `unstorable` tells of
    the columns with NULL in place of values that cannot be stored: the sum of the weights of those rows, and
    why one of the values cannot be.
    """

    buffer: str
    file: str
    rows: int
    bytes: int
    sha256: str
    from_offset: int
    to_offset: int
    schema_version: int
    bounds: Mapping[str, Bounds]
    unstorable: Mapping[str, tuple[int, str]] = field(default_factory=dict)
