"""The outcome where a query can be kept."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Verdict:
    """What stands in the place of EXPLAIN's mark, and what the query's owner is warned of."""

    explanation: str = ""
    warning: str = ""
    hint: str = ""
