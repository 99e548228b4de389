"""What work costs on each engine: from firings that were measured, and as the catalog keeps it; pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf, isinf

from catalog.queries.measured import Measured
from catalog.queries.measurements import KnownEngine
from catalog.rows import named
from planner.cost.engines import EngineLimits, OwnWeights
from planner.cost.fitting import SUBPLAN, fit
from planner.cost.weights import Weights, default_weights, weights_from


def fitted(measured: Iterable[Measured]) -> Mapping[str, Weights]:
    """The weights of each engine that computed any of these firings, the latest of which comes first."""
    return {engine: fit(firings, default_weights(engine)) for engine, firings in _by_engine(measured).items()}


def fitted_to_subplans(
    measured: Mapping[int, Sequence[Measured]], weights: Mapping[str, Weights]
) -> OwnWeights:
    """The weights of subplans, from their own firings, beside those of the installation."""
    return {
        subplan: {
            engine: fit(own, weights.get(engine) or default_weights(engine), SUBPLAN)
            for engine, own in _by_engine(firings).items()
        }
        for subplan, firings in measured.items()
    }


def _by_engine(measured: Iterable[Measured]) -> Mapping[str, Sequence[Measured]]:
    firings: defaultdict[str, list[Measured]] = defaultdict(list)
    for firing in measured:
        firings[firing.engine].append(firing)
    return firings


def engines_to_keep(engines: Iterable[EngineLimits], weights: Mapping[str, Weights]) -> list[KnownEngine]:
    """What the catalog keeps of engines."""
    return [
        KnownEngine(
            engine.name,
            named(weights.get(engine.name) or default_weights(engine.name)),
            None if isinf(engine.most_changed) else engine.most_changed,
            None if isinf(engine.most_read) else engine.most_read,
            None if isinf(engine.most_bytes) else engine.most_bytes,
        )
        for engine in engines
    ]


def weights_by_engine(known: Iterable[KnownEngine]) -> Mapping[str, Weights]:
    """The weights of the engines that the catalog knows."""
    return {one.engine: weights_from(one.weights, default_weights(one.engine)) for one in known}


def own_weights_from(kept: Mapping[str, Mapping[str, Mapping[str, float]]]) -> OwnWeights:
    """The weights of subplans as the catalog keeps them."""
    return {
        int(subplan): {
            engine: weights_from(own, default_weights(engine)) for engine, own in by_engine.items()
        }
        for subplan, by_engine in kept.items()
    }


def as_known(engines: Iterable[EngineLimits], known: Iterable[KnownEngine]) -> tuple[EngineLimits, ...]:
    """Those of the engines that the catalog knows, bounded as it says; all of them where it knows none.

    The catalog has what the coordinator told, and may be older than the engine's settings.
    """
    kept = {one.engine: one for one in known}
    bounded = (
        replace(
            engine,
            most_changed=_bound(kept[engine.name].most_changed),
            most_read=_bound(kept[engine.name].most_read),
            most_bytes=_bound(kept[engine.name].most_bytes),
        )
        for engine in engines
        if engine.name in kept
    )
    return tuple(bounded) or tuple(engines)


def _bound(most: float | None) -> float:
    return inf if most is None else most
