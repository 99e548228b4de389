"""Chooses which states a query keeps within its memory budget."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from math import inf
from typing import Final

from planner.firing.states import NO_LOOKUPS, Lookup, State
from planner.pace.simulation import Pacing, Simulation
from planner.state.frontier import FREE, Frontier, Point
from planner.state.keepable import Keepable, keepable
from planner.state.operator import Output
from planner.state.pricing import Worth, priced
from planner.state.select import best

UNLIMITED: Final = inf


class Policy(Enum):
    """How states are chosen; all but the first are forced, to compare them.

    NOTHING: contents are scanned; EVERYTHING: all states, if all of them fit; GREEDY: as a cache does that
    does not look ahead, by the rows that each byte saves to read.
    """

    BEST = "best"
    NOTHING = "nothing"
    EVERYTHING = "everything"
    GREEDY = "greedy"


@dataclass(frozen=True, slots=True)
class Decision:
    """A state, whether it is kept and why; its bytes, and the seconds that it saves in a period."""

    state: State
    is_kept: bool
    why: str
    bytes: int
    saves: float


@dataclass(frozen=True, slots=True)
class StateChoice:
    """What is decided of each state within a budget.

    `scanned`: the look-ups for which nothing is kept. `frontier`: what every other budget would give.
    """

    budget: float
    decisions: tuple[Decision, ...] = ()
    scanned: frozenset[Lookup] = NO_LOOKUPS
    frontier: Frontier = FREE

    @property
    def bytes(self) -> int:
        """What the states take that are kept."""
        return sum(decision.bytes for decision in self.decisions if decision.is_kept)

    @property
    def wanted(self) -> int:
        """What it would keep if it might."""
        return self.frontier.points[-1].bytes

    def cost(self, budget: float) -> float:
        """What a period costs within another budget."""
        point = self.frontier.at(budget)
        return inf if point is None else point.cost


@dataclass(frozen=True, slots=True)
class Options:
    """All that a choice is made from, but for the budget: what may be kept, and what is best for each."""

    states: tuple[Keepable, ...]
    worth: Mapping[State, Worth]
    frontier: Frontier

    def within(self, budget: float, policy: Policy = Policy.BEST) -> StateChoice:
        """The choice within a budget."""
        kept = self._kept(budget, policy)
        decisions = tuple(self._decision(one, one.state in kept, budget, policy) for one in self.states)
        scanned = (one.uses.lookups for one in self.states if one.state not in kept)
        return StateChoice(budget, decisions, frozenset().union(*scanned), self.frontier)

    def _kept(self, budget: float, policy: Policy) -> frozenset[State]:
        match policy:
            case Policy.BEST:
                point = self.frontier.at(budget)
                return frozenset() if point is None else point.keeps
            case Policy.NOTHING:
                return frozenset()
            case Policy.EVERYTHING:
                all_bytes = sum(one.bytes for one in self.states)
                return frozenset(one.state for one in self.states) if all_bytes <= budget else frozenset()
            case Policy.GREEDY:
                return _greedy(self.states, budget)

    def _decision(self, one: Keepable, is_kept: bool, budget: float, policy: Policy) -> Decision:
        worth = self.worth[one.state]
        why = _why(one, worth, is_kept, budget) if policy is Policy.BEST else f"forced: {policy.value}"
        if not is_kept and worth.is_used and one.bytes <= budget and self._is_from_scratch(budget, policy):
            why = "computing everything from scratch takes less"
        return Decision(one.state, is_kept, why, one.bytes, worth.saves)

    def _is_from_scratch(self, budget: float, policy: Policy) -> bool:
        """Whether nothing is kept though a state would pay and has room."""
        return policy is Policy.BEST and not self._kept(budget, policy)


def options(
    simulation: Simulation,
    paces: Pacing,
    measured: Mapping[State, int],
    recompute_work: float | None = None,
) -> Options:
    """What may be chosen for the query of a simulation, whose runs have these paces.

    `measured`: the bytes of states as they are or were. `recompute_work`: what computing everything from
    scratch takes, if not what the model says; infinite where no run may do that.
    """
    states = keepable(simulation, measured)
    if not states:
        return Options((), {}, FREE)
    prices = priced(simulation, paces, states, recompute_work)
    return Options(states, prices.worth, best(prices.root, Output.CHANGE))


def _greedy(states: Iterable[Keepable], budget: float) -> frozenset[State]:
    """By the rows that need not be read again for each byte, whatever is expected to come."""
    kept: set[State] = set()
    for one in sorted(states, key=lambda one: (-one.rows / max(one.bytes, 1), one.state)):
        if one.bytes <= budget:
            kept.add(one.state)
            budget -= one.bytes
    return frozenset(kept)


def _why(one: Keepable, worth: Worth, is_kept: bool, budget: float) -> str:
    saves = f"it would save {worth.saves:.2g} s in a period"
    if is_kept:
        return f"it saves {worth.saves:.2g} s in a period"
    if not worth.is_used:
        return "nothing that is expected to come looks it up"
    if one.bytes > budget:
        return f"it takes more than the memory budget, though {saves}"
    if worth.upkeep >= worth.saves:
        return f"keeping it up takes {worth.upkeep:.2g} s, and {saves}"
    return f"the memory budget is better spent otherwise, though {saves}"


def unchosen(budget: float) -> StateChoice:
    """Where nothing is known of a period yet: what is looked up is kept as long as there is room."""
    return StateChoice(budget, frontier=Frontier((Point(0, 0.0),)))
