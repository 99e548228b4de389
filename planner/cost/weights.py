"""What each kind of work takes on an engine, in seconds of a processor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Final

SPARK: Final = "Spark"
IN_PROCESS: Final = "DuckDB"
"""The names of the engines that the model has weights for."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Seconds of a processor for one unit of each feature of a firing: see `Features`.

    The defaults are Spark's; they were fitted to queries of TPC-H on two cores, in a Java process that had
    run for ten minutes. An engine that looks nothing up scans what others look up: there a row of that has
    the weight `keyed`, and keys and rows found cost nothing. `latency`: nine in ten firings take no more
    seconds than this times their predicted work.
    """

    jobs: float = 0.11
    operators: float = 0.04
    changes: float = 0.3e-6
    contents: float = 0.5e-6
    keyed: float = 0.5e-6
    looked_up: float = 0.0
    found: float = 0.0
    joined: float = 1.1e-6
    gathered: float = 0.75e-6
    written: float = 1.5e-6
    fresh: float = 0.0
    latency: float = 1.5


DEFAULTS: Final[Mapping[str, Weights]] = MappingProxyType(
    {
        IN_PROCESS: Weights(
            jobs=0.005,
            operators=0.002,
            changes=0.12e-6,
            contents=0.1e-6,
            keyed=0.0,
            looked_up=0.15e-6,
            found=0.15e-6,
            joined=0.05e-6,
            gathered=0.04e-6,
            written=0.12e-6,
            fresh=0.03e-6,
        ),
        SPARK: Weights(),
    }
)
"""The weights of each engine before anything was measured; those in the process as they were fitted to
the runs of `benchmarks/predictions.py`."""


def default_weights(engine: str) -> Weights:
    """The weights of an engine of which nothing was measured; an unknown one is as Spark."""
    return DEFAULTS.get(engine, DEFAULTS[SPARK])


def weights_from(kept: Mapping[str, float], defaults: Weights) -> Weights:
    """The weights as they were kept; a missing weight has its default, an unknown one is ignored."""
    return Weights(
        **{weight.name: kept.get(weight.name, getattr(defaults, weight.name)) for weight in fields(Weights)}
    )
