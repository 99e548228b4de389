"""What a measured firing had to do, and what it took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measured:
    """A firing: what it had to do, the work that was, the seconds that passed, and the subplan it was of.

    `at`: when it began, in seconds since 1970. `engine`: the name of what computed it.
    """

    features: Mapping[str, float]
    work: float
    elapsed: float
    subplan: str = ""
    at: float = 0.0
    engine: str = ""
