"""What a result is compared with: what PostgreSQL computes, or what Gavial computes from scratch."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

BEARABLE_COST: Final = 10_000_000
"""Up to this cost, by its own estimate, PostgreSQL is asked.

That is about 100 seconds: it reads and computes for a cost of about 100,000 in a second. While it does, its
snapshot keeps VACUUM from removing dead rows of the whole server.
"""


class ComparedWith(Enum):
    """What a VERIFY compares a result with, as the catalog names it."""

    POSTGRES = "postgres"
    SPARK = "spark"


@dataclass(frozen=True, slots=True)
class Choice:
    """What a result is compared with, and why, where the statement does not say it."""

    compared_with: ComparedWith
    why: str | None = None


def choice(asked: str | None, cost: float) -> Choice:
    """What the statement asks for; else PostgreSQL, unless it would take too long by its own estimate."""
    if asked is not None:
        return Choice(ComparedWith(asked))
    if cost <= BEARABLE_COST:
        return Choice(ComparedWith.POSTGRES)
    return Choice(
        ComparedWith.SPARK,
        f"PostgreSQL estimates a cost of {cost:,.0f} for the query, and is asked up to {BEARABLE_COST:,}. "
        "VERIFY STANDING QUERY ... USING POSTGRES asks it all the same.",
    )
