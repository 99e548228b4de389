"""How deep a query may be nested: an error to the user, never the end of the stack."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from catalog.errors import StatementTooComplex

_FRAMES: Final = 6000
"""Calls that may be open at once: some 300 operators inside each other, far from the end of the stack."""


@contextmanager
def limited_depth() -> Iterator[None]:
    """Room for deep recursion, and beyond it StatementTooComplex."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _FRAMES))
    try:
        yield
    except RecursionError:
        raise StatementTooComplex(
            "the query is nested too deeply",
            hint="Write long chains of operators, CASE or subqueries in several parts.",
        ) from None
    finally:
        sys.setrecursionlimit(before)
