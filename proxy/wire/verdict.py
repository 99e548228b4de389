"""The outcome where a query can be kept."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Verdict:
    """What stands in the place of EXPLAIN's mark, and what the query's owner is warned of.

    `is_news`: what is said is no warning, but how the query will be kept.
    """

    explanation: str = ""
    warning: str = ""
    hint: str = ""
    is_news: bool = False
