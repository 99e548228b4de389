"""Which engine computes a firing: of those that can, the one that is expected to take the least work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from planner.cost.row_counts import Vector
from planner.cost.weights import Weights, default_weights
from planner.cost.work import Features, rows_read, vector_of, work
from planner.firing.states import Lookup

OwnWeights: TypeAlias = Mapping[int, Mapping[str, Weights]]
"""The weights of subplans whose firings have been measured, by the buffers that they write and by engine."""

Places: TypeAlias = NDArray[np.intp]
"""For each firing the place of its engine among all engines."""


_MEGABYTE: Final = 2**20


@dataclass(frozen=True, slots=True)
class Keeping:
    """What an engine keeps to look rows up, which it scans otherwise.

    `lookups`: those that it can do by key. `widths`: the bytes of a value, by buffer and column; `beside`: of
    a row besides. Contents of less than `fewest_rows` are scanned in any case. `most_bytes`: what it keeps
    for all queries.
    """

    lookups: frozenset[Lookup]
    widths: Mapping[int, Mapping[int, float]]
    beside: float
    fewest_rows: float
    most_bytes: float = inf


@dataclass(frozen=True, slots=True)
class EngineLimits:
    """What is known of an engine before it computes anything.

    `most_changed`, `most_read`: so many changed rows, and rows in all, it may be given. `most_bytes`: so much
    memory the rows may take that it holds at once. By the buffer that a subplan writes: `unable`, why it
    cannot compute the subplan, and `row_bytes`, what a row takes that is held for it. `keeping`: what it may
    keep between firings; an engine without it looks nothing up.
    """

    name: str
    most_changed: float = inf
    most_read: float = inf
    most_bytes: float = inf
    unable: Mapping[int, str] = field(default_factory=dict)
    row_bytes: Mapping[int, float] = field(default_factory=dict)
    keeping: Keeping | None = None

    def is_boundless(self, writes: int) -> bool:
        """Whether it may compute every firing of a subplan."""
        return writes not in self.unable and self.most_changed == self.most_read == self.most_bytes == inf

    def is_able(self, writes: int, features: Features) -> NDArray[np.bool_]:
        """Whether it may compute each of these firings of a subplan."""
        fits: NDArray[np.bool_] = self._bytes(writes, features) <= self.most_bytes
        if self.most_changed < inf or self.most_read < inf:
            fits &= (features.changes <= self.most_changed) & (rows_read(features) <= self.most_read)
        return fits & (writes not in self.unable)

    def why_not(self, writes: int, features: Features) -> str | None:
        """Why it may not compute a firing; None where it may."""
        if writes in self.unable:
            return self.unable[writes]
        for rows, most, what in (
            (features.changes, self.most_changed, "changed rows"),
            (rows_read(features), self.most_read, "rows to read"),
        ):
            if rows[0] > most:
                return f"{rows[0]:.0f} {what}, and at most {most:.0f} are computed in the process"
        if (size := self._bytes(writes, features)[0]) > self.most_bytes:
            free = f"{self.most_bytes / _MEGABYTE:.0f} MB"
            return f"about {size / _MEGABYTE:.0f} MB are needed, and {free} may be used in the process"
        return None

    def _bytes(self, writes: int, features: Features) -> Vector:
        """About how much memory the rows take that each firing holds at once."""
        return self.row_bytes.get(writes, 0.0) * features.held


def most_kept(engines: Iterable[EngineLimits]) -> float:
    """The bytes that the engines keep for all queries."""
    return next((engine.keeping.most_bytes for engine in engines if engine.keeping is not None), 0.0)


@dataclass(frozen=True, slots=True)
class Choice:
    """The engine of a firing, its expected work there and on each engine that may, and the reason.

    There is none where there is a single engine.
    """

    engine: str
    work: float
    works: Mapping[str, float]
    reason: str


@dataclass(frozen=True, slots=True)
class Costs:
    """What firings cost on each engine, the last of which computes everything.

    `weights`: those of the installation; `own` ones of a subplan are used instead where there are any.
    """

    engines: tuple[EngineLimits, ...]
    weights: Mapping[str, Weights]
    own: OwnWeights = field(default_factory=dict)
    _vectors: dict[int, Vector] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def latency(self) -> float:
        """Nine in ten firings take no more seconds than this times their predicted work."""
        return max(self.weights_on(engine.name).latency for engine in self.engines)

    def weights_on(self, engine: str) -> Weights:
        """The weights of an engine in this installation."""
        return self.weights.get(engine, default_weights(engine))

    def weights_of(self, writes: int, engine: str) -> Weights:
        """The weights of an engine for the subplan that writes this buffer."""
        return self.own.get(writes, {}).get(engine) or self.weights_on(engine)

    def works(self, writes: int, features: Features) -> tuple[Vector, Places]:
        """The work of each firing on its engine, and which engine that is: the cheapest of those that may."""
        every = self._vectors_of(writes) @ features.matrix
        if len(self.engines) == 1:
            return every[0], np.zeros(every.shape[1], np.intp)
        for place, engine in enumerate(self.engines):
            if not engine.is_boundless(writes):
                every[place][~engine.is_able(writes, features)] = inf
        places: Places = np.argmin(every, axis=0)
        return every[places, np.arange(every.shape[1])], places

    def choice(self, writes: int, features: Features) -> Choice:
        """The engine of a single firing, with the reason for it."""
        works = {
            engine.name: float(work(features, self.weights_of(writes, engine.name))[0])
            for engine in self.engines
            if engine.is_able(writes, features)[0]
        }
        engine = min(works, key=lambda name: works[name])
        return Choice(engine, works[engine], works, self._reason(writes, features, engine, works))

    def _vectors_of(self, writes: int) -> Vector:
        """The weights of a subplan: a row for each engine, a column for each feature."""
        vectors = self._vectors.get(writes)
        if vectors is None:
            rows = [vector_of(self.weights_of(writes, engine.name)) for engine in self.engines]
            vectors = self._vectors[writes] = np.array(rows)
        return vectors

    def _reason(self, writes: int, features: Features, chosen: str, works: Mapping[str, float]) -> str:
        if len(self.engines) == 1:
            return ""
        dearer = [f"{works[name]:.2g} s on {name}" for name in works if name != chosen]
        if dearer:
            return f"{works[chosen]:.2g} s beside {', '.join(dearer)}"
        unable = (engine.why_not(writes, features) for engine in self.engines if engine.name != chosen)
        return "; ".join(reason for reason in unable if reason is not None)
