"""What is known of a node of a delta plan in all its firings, and how its rows in each are computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, TypeAlias

import numpy as np

from planner.delta.weighted import Moment
from planner.flow import BASIS, INSERTS, Flow, Vector, gross
from planner.spread import Spreads

Leaf: TypeAlias = tuple[int, Moment]
"""A buffer and the moment at which it is read."""

_LEAST_SHARE: Final = 1e-6

Changes: TypeAlias = frozenset[int]
"""Buffers: something happens if any of their changes is not empty."""


class Kind(Enum):
    """Rows that are there, rows that come and go, or a content with what came to it."""

    CONTENT = "content"
    CHANGE = "change"
    RENEWED = "renewed"


@dataclass(slots=True)
class Frame:
    """What is read in the firings, the outcomes of steps so far, and the rows that nodes dealt with.

    `news` is the share of what is read that is new, `own` the rows of the own content before, `ends` those of
    buffers once everything has come.
    """

    leaves: Mapping[Leaf, Flow]
    news: Vector
    own: Vector
    ends: Mapping[int, float]
    steps: dict[int, Flow] = field(default_factory=dict)
    joined: list[Vector] = field(default_factory=list)
    gathered: list[Vector] = field(default_factory=list)

    def grown(self, buffers: Sequence[int], moment: Moment = Moment.AFTER) -> Vector:
        """Which share of the values that grow with these buffers' rows has come."""
        share = np.ones(len(self.news))
        for buffer in buffers:
            held = self.leaves.get((buffer, moment), self.leaves.get((buffer, Moment.BEFORE)))
            if held is not None:
                share = share * np.clip(held[INSERTS] / self.ends[buffer], _LEAST_SHARE, 1.0)
        return share


Run: TypeAlias = Callable[[Frame], Flow]


@dataclass(frozen=True, slots=True)
class Part:
    """A node: its rows in a frame, and what holds in all frames.

    `sample` are its rows once everything has come, `origin` where they are from, `arrived` the changes among
    that. Rows cut down to those that meet something of `restricted` stand for more. `keys`: each of their
    values comes once. `retracted`: a content with its sign changed. `before`: it is made of contents
    before the firing alone. `recent`: the share of its rows that have only just come. `waiting`: what is done
    once something changed. `needs`: contents without which there are no rows.
    """

    run: Run
    sample: Flow
    columns: Spreads
    kind: Kind
    changes: Changes
    origin: frozenset[object]
    restricted: frozenset[object] = frozenset()
    keys: frozenset[int] | None = None
    arrived: frozenset[object] = frozenset()
    waiting: tuple[Leaf | None, ...] = ()
    retracted: bool = False
    before: bool = False
    needs: frozenset[Leaf] = frozenset()
    recent: Callable[[Frame], Vector | float] | None = None

    @property
    def rows(self) -> float:
        """How many there are once everything has come."""
        return float(gross(self.sample)[0])

    def seen_by(self, other: Part) -> Callable[[Flow], Vector]:
        """How many rows each of the other's is compared with: those left out would not have met it."""
        if self.kind is Kind.CHANGE:
            return gross
        if other.origin <= self.restricted:
            return _basis
        return _rows


Occasion: TypeAlias = tuple[Changes, frozenset[Leaf]]
"""When work is done: some of these changes is not empty, and none of these contents is."""


@dataclass(slots=True)
class Ledger:
    """What happens in a firing on which occasion: joins and groupings, and contents that are read."""

    operators: Counter[Occasion] = field(default_factory=Counter)
    scans: Counter[tuple[Leaf, Occasion]] = field(default_factory=Counter)

    def record(self, waiting: tuple[Leaf | None, ...], occasion: Occasion) -> None:
        """Work that is done then; None is a join or a grouping."""
        for leaf in waiting:
            if leaf is None:
                self.operators[occasion] += 1
            else:
                self.scans[leaf, occasion] += 1


def recorded(part: Part, ledger: Ledger) -> tuple[Leaf | None, ...]:
    """What is still to be done, with a grouping on top: nothing if it is known what has to change for it."""
    waiting = (*part.waiting, None)
    if part.changes:
        ledger.record(waiting, (part.changes, part.needs))
    return () if part.changes else waiting


def presence(rows: Vector) -> Vector:
    """How likely it is that there is a row."""
    shares: Vector = np.minimum(rows, 1.0)
    return shares


def _basis(flow: Flow) -> Vector:
    basis: Vector = flow[BASIS]
    return basis


def _rows(flow: Flow) -> Vector:
    inserts: Vector = flow[INSERTS]
    return inserts
