"""One frozen class per statement of ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class ShowVersion:
    """`SHOW gavial.version`: one row, one column, the version that is running."""


Statement: TypeAlias = ShowVersion
