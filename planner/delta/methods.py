"""How the change of a node with a state can be computed."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final


class Method(Enum):
    """How a result is updated: from change and state, the same without retractions, or from new content."""

    LINEAR = "linear"
    COMBINE = "combine"
    RECOMPUTE = "recompute"


METHODS: Final = (Method.LINEAR, Method.COMBINE, Method.RECOMPUTE)
"""All methods, the cheapest first."""


def methods_of(options: Mapping[str, object]) -> tuple[Method, ...]:
    """The methods in the order in which they are tried for a query with these options: a forced one first."""
    return tuple(sorted(METHODS, key=lambda method: method.value != options.get("METHOD")))
