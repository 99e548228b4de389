"""How the change of a node with a state can be computed."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final


class Method(Enum):
    """From the change and the old state; so if nothing was taken away; from the input's new content."""

    LINEAR = "linear"
    COMBINE = "combine"
    RECOMPUTE = "recompute"


METHODS: Final = (Method.LINEAR, Method.COMBINE, Method.RECOMPUTE)
"""All methods, the cheapest first."""


def methods_of(options: Mapping[str, object]) -> tuple[Method, ...]:
    """In which order the options of a query have them tried: a forced one before the cheaper ones."""
    return tuple(sorted(METHODS, key=lambda method: method.value != options.get("METHOD")))
