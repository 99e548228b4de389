"""About how many bytes a value takes in memory, by how it is stored."""

from __future__ import annotations

from typing import Final

from catalog.postgres.storage import Decimal, Plain, Storage

_LONG: Final = (Plain.TEXT, Plain.JSONB, Plain.BYTES, Plain.INTERVAL)
_SHORT_DIGITS: Final = 18
_SHORT_BYTES: Final = 8
_LONG_BYTES: Final = 24
_DECIMAL_BYTES: Final = 16


def width(storage: Storage) -> int:
    """The bytes of a value that is stored so; texts are taken to be short."""
    match storage:
        case Plain():
            return _LONG_BYTES if storage in _LONG else _SHORT_BYTES
        case Decimal(precision=precision):
            return _SHORT_BYTES if precision <= _SHORT_DIGITS else _LONG_BYTES
        case _:
            return _LONG_BYTES


def arrow_width(storage: Storage) -> int:
    """The bytes of a value in Arrow's form, in which rows are arranged."""
    match storage:
        case Plain.INT16:
            return 2
        case Plain.INT32 | Plain.FLOAT32 | Plain.DATE:
            return 4
        case Plain.BOOLEAN:
            return 1
        case Decimal():
            return _DECIMAL_BYTES
        case _:
            return width(storage)
