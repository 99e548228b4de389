"""An executor that has each firing computed by an engine drawn at random: what one writes, others read.

DuckDB holds the rows of every folder that it reads twice, however few they are, and has each look-up served
in a way drawn at random.
"""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

from catalog.errors import Error, NotMaintainable
from coordinator.firing.work import Work
from executors.duckdb.arrangements import Room
from executors.duckdb.executor import DuckDBExecutor
from executors.duckdb.stepping import NotComputed
from executors.executor import Buffers, Firing, Outcome
from executors.reference.executor import ReferenceEngine, ReferenceExecutor
from executors.spark.executor import SparkExecutor
from tests.support.answers.drawn_look_ups import DrawnDuckDB

MOST_PAIRS: Final = 20_000
"""So many combinations of the rows that are read are computed by definition."""


class LeftToSpark(Exception):
    """A firing that only Spark computes, where there is none."""


@dataclass
class Engines:
    """The engines that there are, Spark perhaps among them, and how many firings they have computed."""

    large: SparkExecutor | None
    random: Random
    counts: Counter[str] = field(default_factory=Counter)
    small: DuckDBExecutor = field(init=False)

    def __post_init__(self) -> None:
        room = Room(Path(tempfile.gettempdir()), 1 << 32, fewest_rows=0, is_compared=True)
        self.small = DrawnDuckDB(room, self.random, self.counts)

    def close(self) -> None:
        """Give back what DuckDB holds; Spark belongs to whoever started it."""
        self.small.close()


class MixedExecutor(ReferenceExecutor):
    """Computes the firings of a query, each by any engine that can."""

    def __init__(self, engines: Engines, work: Work, random: Random) -> None:
        super().__init__()
        self._engines = engines
        self._random = random
        self._has_definition = _has_definition(work)

    def fire(self, firing: Firing, buffers: Buffers) -> Outcome:
        """What DuckDB or the definition cannot compute, Spark does; it has the last word on errors, too."""
        outcome = self._fire(firing, buffers)
        if outcome.engine:
            self._engines.counts[outcome.engine] += 1
        return outcome

    def _fire(self, firing: Firing, buffers: Buffers) -> Outcome:
        for way in self._ways():
            outcome = way(firing, buffers)
            if outcome is not None:
                return outcome
        if self._engines.large is None:
            raise LeftToSpark
        return self._engines.large.fire(firing, buffers)

    def _ways(self) -> Sequence[Callable[[Firing, Buffers], Outcome | None]]:
        """What is tried before Spark; where there is none, both."""
        chance = self._random.random()
        ways = (
            (self._by_duckdb, self._by_definition) if chance < 0.6 else (self._by_definition, self._by_duckdb)
        )
        if self._engines.large is None:
            return ways
        return ways[:1] if chance < 0.8 else ()

    def _by_duckdb(self, firing: Firing, buffers: Buffers) -> Outcome | None:
        try:
            return self._engines.small.fire(firing, buffers)
        except NotComputed as reason:
            self._engines.counts[f"not on DuckDB: {str(reason)[:60]}"] += 1
            return None

    def _by_definition(self, firing: Firing, buffers: Buffers) -> Outcome | None:
        if not self._is_for_definition(firing, buffers):
            return None
        try:
            return super().fire(firing, buffers)
        except Error as error:
            self._engines.counts[f"not by definition: {error.message[:60]}"] += 1
            return None

    def _is_for_definition(self, firing: Firing, buffers: Buffers) -> bool:
        return self._has_definition and _pairs(firing, buffers) <= MOST_PAIRS


def _pairs(firing: Firing, buffers: Buffers) -> int:
    return math.prod(1 + buffers.count(buffer, (0, end)) for buffer, (_, end) in firing.ranges.items())


def _has_definition(work: Work) -> bool:
    """Whether plain Python has all functions of the plan, and values for all of its columns."""
    try:
        ReferenceEngine().schemas(work.plan, work.environment)
    except NotMaintainable:
        return False
    return True
