"""Sizes as PostgreSQL writes them."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

_UNITS: Final = {"": 0, "b": 0, "bytes": 0, "kb": 1, "mb": 2, "gb": 3, "tb": 4, "pb": 5}
_SIZE: Final = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-zA-Z]*)\s*")
UNLIMITED: Final = "unlimited"
_MOST: Final = 2**63 - 1


def parse_size(text: str) -> int | str:
    """Bytes, as `pg_size_bytes` counts them; or the word `unlimited`."""
    if text.strip().lower() == UNLIMITED:
        return UNLIMITED
    found = _SIZE.fullmatch(text)
    if found is None or found[2].lower() not in _UNITS:
        raise ValueError(text)
    amount = int((Decimal(found[1]) * 1024 ** _UNITS[found[2].lower()]).to_integral_value())
    if amount > _MOST:
        raise ValueError(text)
    return amount
