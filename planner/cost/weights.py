"""What each kind of work takes, in seconds of a processor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Weights:
    """Seconds of a processor for one unit of each feature of a firing: see `Features`.

    The defaults were fitted to queries of TPC-H on two cores, in a Java process that had run for ten minutes.
    `latency`: nine in ten firings take no more seconds than this times their predicted work.
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
    """The weights as they were kept; a missing weight has its default, an unknown one is ignored."""
    return Weights(**{weight.name: kept[weight.name] for weight in fields(Weights) if weight.name in kept})
