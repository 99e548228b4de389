"""What each kind of work takes, in seconds of a processor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Weights:
    """Seconds of a processor for each of what a firing does: see `Features`.

    The defaults are what was fitted to queries of TPC-H on two cores, with a Java process of ten minutes.
    `latency`: in nine of ten firings no more seconds pass than this times the work that was predicted.
    """

    jobs: float = 0.11
    operators: float = 0.04
    changes: float = 0.3e-6
    contents: float = 0.5e-6
    joined: float = 1.1e-6
    gathered: float = 0.75e-6
    written: float = 1.5e-6
    latency: float = 1.5


def weights_from(kept: Mapping[str, float]) -> Weights:
    """The weights that were kept; a weight that was not has its default, and unknown ones are left out."""
    return Weights(**{weight.name: kept[weight.name] for weight in fields(Weights) if weight.name in kept})
