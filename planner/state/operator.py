"""Operators and their actions: what each may keep, and what that costs, for both kinds of output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from planner.firing.states import State


class Output(Enum):
    """What an operator is asked for: the change of its rows, or all rows that there are afterwards."""

    CHANGE = "change"
    EVERYTHING = "everything"


@dataclass(frozen=True, slots=True)
class Emission:
    """How an operator emits an output: its own cost, and the output that it needs of each of its inputs.

    `needs` has a place for each input; None: that one is not computed at all.
    """

    cost: float
    needs: tuple[Output | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Action:
    """One way to set an operator up: the states that it keeps, their bytes, and the outputs that it can emit.

    An output that is missing cannot be emitted in this way: there the action is not applicable.
    """

    bytes: int
    emits: Mapping[Output, Emission]
    keeps: frozenset[State] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Operator:
    """A vertex of a tree of operators, and the actions of which one is chosen."""

    name: str
    actions: tuple[Action, ...]
    inputs: tuple[Operator, ...] = field(default=())
