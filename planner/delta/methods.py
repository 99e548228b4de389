"""How the change of a node with a state can be computed."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final


class Method(Enum):
    """How a result is updated: from change and state, so without retractions only, or from new content."""

    LINEAR = "linear"
    COMBINE = "combine"
    RECOMPUTE = "recompute"


METHODS: Final = (Method.LINEAR, Method.COMBINE, Method.RECOMPUTE)
"""All methods, the cheapest first."""


def methods_of(options: Mapping[str, object]) -> tuple[Method, ...]:
    """In which order the options of a query have them tried: a forced one before the cheaper ones."""
    return tuple(sorted(METHODS, key=lambda method: method.value != options.get("METHOD")))
