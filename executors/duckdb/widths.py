"""About how many bytes a value takes in memory, by how it is stored."""

from __future__ import annotations

from typing import Final

from catalog.postgres.storage import Decimal, Plain, Storage

_LONG: Final = (Plain.TEXT, Plain.JSONB, Plain.BYTES, Plain.INTERVAL)
_SHORT_DIGITS: Final = 18
_SHORT_BYTES: Final = 8
_LONG_BYTES: Final = 24


def width(storage: Storage) -> int:
    """The bytes of a value that is stored so; texts are taken to be short."""
    match storage:
        case Plain():
            return _LONG_BYTES if storage in _LONG else _SHORT_BYTES
        case Decimal(precision=precision):
            return _SHORT_BYTES if precision <= _SHORT_DIGITS else _LONG_BYTES
        case _:
            return _LONG_BYTES
