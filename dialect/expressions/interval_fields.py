"""INTERVAL YEAR, INTERVAL DAY TO MINUTE and the like: the parts of an interval that its type keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from catalog.postgres.types import SqlType
from dialect.expressions.storages import unsupported

_MONTH, _YEAR, _DAY, _HOUR, _MINUTE, _SECOND = (1 << bit for bit in (1, 2, 3, 10, 11, 12))
_ALL: Final = 0x7FFF
_WHOLE_PRECISION: Final = 0xFFFF
_DATES: Final = _YEAR | _MONTH
_UNITS: Final = {_HOUR: 3_600_000_000, _MINUTE: 60_000_000, _SECOND: 1}


@dataclass(frozen=True, slots=True)
class KeptParts:
    """The units of which whole ones are kept, 0 where none are; and whether days are."""

    months: int
    days: bool
    microseconds: int


def kept_parts(type_: SqlType) -> KeptParts | None:
    """What an interval of the type keeps: nothing smaller than its last field; None: everything."""
    fields, precision = type_.typmod >> 16 & _ALL, type_.typmod & 0xFFFF
    if precision != _WHOLE_PRECISION:
        raise unsupported("an interval with a number of digits behind its seconds")
    if fields == _ALL:
        return None
    if not fields & ~_DATES:
        return KeptParts(12 if fields == _YEAR else 1, days=False, microseconds=0)
    smallest = next((unit for field, unit in reversed(_UNITS.items()) if fields & field), 0)
    return KeptParts(1, days=True, microseconds=smallest)


def modifiers(type_: SqlType) -> str:
    """The fields and digits as they may follow a qualified name, which DAY TO MINUTE may not."""
    fields, precision = type_.typmod >> 16 & _ALL, type_.typmod & _WHOLE_PRECISION
    return str(fields) if precision == _WHOLE_PRECISION else f"{fields}, {precision}"
