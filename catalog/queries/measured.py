"""What a firing that was measured had to do, and what it took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measured:
    """A firing: what it had to do, the work that was, the seconds that passed, and the subplan it was of."""

    features: Mapping[str, float]
    work: float
    elapsed: float
    subplan: str = ""
