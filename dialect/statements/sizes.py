"""Sizes as PostgreSQL writes them: a number and a unit."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

_POWERS: Final = {"b": 0, "bytes": 0, "kb": 1, "mb": 2, "gb": 3, "tb": 4, "pb": 5}
_SIZE: Final = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-zA-Z]*)\s*", re.ASCII)
_LONGEST: Final = 40
_MOST: Final = 2**63 - 1
UNLIMITED: Final = "unlimited"
UNITS: Final = 'valid units are "B", "kB", "MB", "GB", and "TB"'


def parse_size(text: str) -> int:
    """Bytes, as `pg_size_bytes` counts them; ValueError without a unit, which only 0 needs not have."""
    size = _SIZE.fullmatch(text)
    if size is None or len(text) > _LONGEST:
        raise ValueError(text)
    number, unit = Decimal(size[1]), size[2].lower()
    if number == 0 and not unit:
        return 0
    if unit not in _POWERS:
        raise ValueError(text)
    amount = int((number * 1024 ** _POWERS[unit]).to_integral_value())
    if amount > _MOST:
        raise ValueError(text)
    return amount


def parse_budget(text: str) -> str:
    """Canonical text of a size, or the word `unlimited`."""
    return UNLIMITED if text.strip().lower() == UNLIMITED else size_text(parse_size(text))


def size_text(amount: int) -> str:
    """Bytes in the largest unit that counts them exactly."""
    units = (("TB", 4), ("GB", 3), ("MB", 2), ("kB", 1), ("B", 0))
    if amount == 0:
        return "0"
    return next(f"{amount // 1024**power}{unit}" for unit, power in units if amount % 1024**power == 0)
