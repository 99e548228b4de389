"""Specialises a subplan for one firing: choices are made, and inputs known to be empty are left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import assert_never

from planner.delta.weighted import (
    AsSet,
    Choose,
    Consolidate,
    DeltaFilter,
    DeltaProject,
    First,
    Groups,
    Guard,
    KeySemiJoin,
    Moment,
    Negate,
    Pairs,
    PartialAggregate,
    Read,
    Rows,
    SemiJoin,
    Step,
    StepRef,
    Subplan,
    Sum,
    Weighted,
    fields,
)
from planner.delta.weighted_tree import inputs, with_inputs, within


@dataclass(frozen=True, slots=True)
class Facts:
    """What the figures of batches tell about a firing, before anything is read.

    The buffers `unchanged` have no rows in their range, those `unwritten` no content BEFORE.
    """

    holds: Callable[[Guard], bool]
    unchanged: frozenset[int] = frozenset()
    unwritten: frozenset[int] = frozenset()


def specialise(subplan: Subplan, facts: Facts) -> Subplan:
    """The subplan with the same outcome in this firing; steps that are still used keep their numbers.

    Where the outcome is empty for certain, the last step is `Rows` without rows.
    """
    specialising = _Specialising(facts)
    steps = [Step(step.number, step.what, specialising.step(step)) for step in subplan.steps]
    return replace(subplan, steps=_used(steps))


def is_empty(outcome: Weighted) -> bool:
    """Whether the node is `Rows` without rows."""
    return isinstance(outcome, Rows) and not outcome.rows


def _used(steps: list[Step]) -> tuple[Step, ...]:
    kept = [steps[-1]]
    wanted = set(_uses(steps[-1]))
    for step in reversed(steps[:-1]):
        if step.number in wanted:
            kept.append(step)
            wanted |= _uses(step)
    return tuple(reversed(kept))


def _uses(step: Step) -> set[int]:
    return {node.step for node in within(step.outcome) if isinstance(node, StepRef)}


@dataclass(slots=True)
class _Specialising:
    facts: Facts
    empty: set[int] = field(default_factory=set)

    def step(self, step: Step) -> Weighted:
        outcome = self.outcome(step.outcome)
        if is_empty(outcome):
            self.empty.add(step.number)
        return outcome

    def outcome(self, outcome: Weighted) -> Weighted:
        match outcome:
            case Read():
                return self.read(outcome)
            case StepRef(step=step) if step in self.empty:
                return _nothing(outcome)
            case Choose(guard=guard, shortcut=shortcut, general=general):
                return self.outcome(shortcut if self.facts.holds(guard) else general)
            case _:
                return _reduced(with_inputs(outcome, tuple(map(self.outcome, inputs(outcome)))))

    def read(self, leaf: Read) -> Weighted:
        """The leaf, simplified: without a change AFTER is BEFORE, and without a BEFORE it is the change."""
        unchanged, unwritten = leaf.buffer in self.facts.unchanged, leaf.buffer in self.facts.unwritten
        match leaf.moment:
            case Moment.CHANGE if unchanged:
                return _nothing(leaf)
            case Moment.BEFORE if unwritten:
                return _nothing(leaf)
            case Moment.AFTER if unchanged:
                return self.read(replace(leaf, moment=Moment.BEFORE))
            case Moment.AFTER if unwritten:
                return replace(leaf, moment=Moment.CHANGE)
            case _:
                return leaf


def _nothing(outcome: Weighted) -> Rows:
    return Rows((), fields(outcome))


def _reduced(outcome: Weighted) -> Weighted:
    """The node without its empty inputs; no rows if it is known to have none without these."""
    match outcome:
        case DeltaFilter() | DeltaProject() | Negate() | Consolidate() | AsSet() | First():
            return _nothing(outcome) if is_empty(outcome.input) else outcome
        case PartialAggregate() | Groups():
            return _nothing(outcome) if outcome.keys and is_empty(outcome.input) else outcome
        case SemiJoin(left=left, right=right, negated=True):
            return left if is_empty(left) or is_empty(right) else outcome
        case Pairs(left=left, right=right) | SemiJoin(left=left, right=right):
            return _nothing(outcome) if is_empty(left) or is_empty(right) else outcome
        case KeySemiJoin(input=child, of=of):
            return _nothing(outcome) if is_empty(child) or is_empty(of) else outcome
        case Sum(inputs=summands, fields=columns):
            present = tuple(summand for summand in summands if not is_empty(summand))
            if len(present) == 1 and fields(present[0]) == columns:
                return present[0]
            return Sum(present, columns) if present else _nothing(outcome)
        case Read() | StepRef() | Rows() | Choose():
            return outcome
        case _:
            assert_never(outcome)
