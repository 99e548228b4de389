"""The states of a plan: contents whose rows may be kept by a key, so that look-ups need not scan them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from planner.delta.weighted import DeltaPlan, Moment, NodeBuffer, Read, Subplan, TableBuffer
from planner.delta.weighted_tree import within
from planner.firing.stepwise import LookUp, Steps, stepwise

Lookup: TypeAlias = tuple[int, frozenset[int]]
"""A buffer, and the columns that its rows are looked up by, as a subplan has them."""

NO_LOOKUPS: frozenset[Lookup] = frozenset()


@dataclass(frozen=True, slots=True, order=True)
class State:
    """A content that is kept by a key.

    `buffer`: of a table that is read several times, the first of its buffers. `key`: columns, of a table its
    attributes, by number.
    """

    buffer: int
    key: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Uses:
    """What a plan looks up in one state: the look-ups, and the columns of each that they read.

    `by`: the buffers that the subplans write that look it up.
    """

    lookups: frozenset[Lookup] = frozenset()
    columns: frozenset[int] = frozenset()
    by: frozenset[int] = frozenset()


def states_of(plan: DeltaPlan) -> Mapping[State, Uses]:
    """Everything that a plan looks up, in order; `columns` are numbered as those of keys are."""
    firsts = _Firsts(plan)
    states: dict[State, Uses] = {}
    for subplan in plan.subplans:
        for step in stepwise(subplan):
            if not isinstance(step, LookUp):
                continue
            lookup = step.buffer, frozenset(key.column for key in step.keys)
            state = firsts.state(*lookup)
            uses = states.get(state, Uses())
            columns = firsts.numbers(step.buffer, frozenset(field.column for field in step.fields))
            states[state] = Uses(uses.lookups | {lookup}, uses.columns | columns, uses.by | {subplan.writes})
    return dict(sorted(states.items()))


def looked_up_keys(subplan: Subplan) -> Mapping[tuple[int, Moment], frozenset[frozenset[int]]]:
    """The contents of which the subplan looks up what it needs and scans nothing, and by which keys."""
    steps = stepwise(subplan)
    scanned = _scanned(steps)
    keys: dict[tuple[int, Moment], frozenset[frozenset[int]]] = {}
    for step in steps:
        if isinstance(step, LookUp) and (step.buffer, step.moment) not in scanned:
            leaf = step.buffer, step.moment
            keys[leaf] = keys.get(leaf, frozenset()) | {frozenset(key.column for key in step.keys)}
    return keys


def _scanned(steps: Steps) -> frozenset[tuple[int, Moment]]:
    """The leaves that steps read as a whole."""
    return frozenset(
        (node.buffer, node.moment)
        for step in steps
        if not isinstance(step, LookUp)
        for node in within(step.outcome)
        if isinstance(node, Read)
    )


@dataclass(slots=True)
class _Firsts:
    """The first buffer of each table: all buffers of a table have the same files."""

    plan: DeltaPlan
    firsts: dict[object, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for buffer in self.plan.buffers:
            if isinstance(buffer, TableBuffer):
                self.firsts.setdefault(buffer.table, buffer.number)

    def state(self, buffer: int, columns: frozenset[int]) -> State:
        """The state in which a look-up finds its rows."""
        key = tuple(sorted(self.numbers(buffer, columns)))
        match self.plan.buffers[buffer]:
            case TableBuffer(table=table):
                return State(self.firsts[table], key)
            case NodeBuffer():
                return State(buffer, key)

    def numbers(self, buffer: int, columns: frozenset[int]) -> frozenset[int]:
        """The columns as states number them."""
        match self.plan.buffers[buffer]:
            case TableBuffer(fields=fields, attributes=attributes):
                numbers = zip(fields, attributes, strict=True)
                return frozenset(number for field, number in numbers if field.column in columns)
            case NodeBuffer():
                return columns
