"""A subplan step by step: a content is not scanned but looked up, by the keys that steps before have found.

dX x Y needs no row of Y but those that have a key of dX: with K the keys of dX, dX x Y = dX x (Y |x K). So
the changed side of a join becomes a step, and each content on the other side a look-up by that step's keys.
What is looked up is as small as the change, and gives the keys for the next look-up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias, assert_never

from catalog.postgres.types import TEXT, VARCHAR
from dialect.expressions.scalar import Call, Cast, CastMethod, Reference, Scalar
from planner.algebra.conditions import conjuncts
from planner.algebra.equality import is_equality
from planner.algebra.logical import Field
from planner.delta.check import check_outcome
from planner.delta.weighted import (
    AsSet,
    Consolidate,
    DeltaFilter,
    DeltaProject,
    Groups,
    KeySemiJoin,
    Moment,
    Negate,
    Pairs,
    PartialAggregate,
    Read,
    SemiJoin,
    Step,
    StepRef,
    Subplan,
    Sum,
    Weighted,
    fields,
)
from planner.delta.weighted_tree import inputs, with_inputs
from planner.firing.driven import is_driven


@dataclass(frozen=True, slots=True)
class Key:
    """A column of a content, and the column of a step whose values it is looked up by."""

    column: int
    of: int


@dataclass(frozen=True, slots=True)
class LookUp:
    """A step: the rows of a buffer's content whose keys are those of some row of an earlier step.

    Keys are equal where they are not distinct. Rows with other keys do no harm: the joins that follow leave
    them out, as they would without the look-up.
    """

    number: int
    buffer: int
    moment: Moment
    fields: tuple[Field, ...]
    of: int
    keys: tuple[Key, ...]


Steps: TypeAlias = tuple[Step | LookUp, ...]


def stepwise(subplan: Subplan) -> Steps:
    """The steps of a specialised subplan, with look-ups before the steps that read what they find."""
    walk = _Walk(max(step.number for step in subplan.steps) + 1)
    for step in subplan.steps:
        outcome = walk.visit(step.outcome)
        walk.steps.append(Step(step.number, step.what, outcome))
        walk.driven[step.number] = is_driven(outcome, walk.driven)
    check_steps(subplan, walk.steps)
    return tuple(walk.steps)


def check_steps(subplan: Subplan, steps: Iterable[Step | LookUp]) -> None:
    """As of a subplan; and keys are those of an earlier step, and columns of what is looked up."""
    known: dict[int, tuple[Field, ...]] = {}
    for step in steps:
        assert step.number not in known, f"step {step.number} is there twice"
        match step:
            case Step(number=number, outcome=outcome):
                check_outcome(outcome, subplan, known)
                known[number] = fields(outcome)
            case LookUp(number=number, fields=columns, of=of, keys=keys):
                check_outcome(Read(step.buffer, step.moment, columns), subplan, known)
                assert of in known, f"step {number} looks up keys of a step that is not there"
                assert {key.column for key in keys} <= {field.column for field in columns}
                assert {key.of for key in keys} <= {field.column for field in known[of]}
                known[number] = columns
            case _:
                assert_never(step)


Wanted: TypeAlias = tuple[Key, ...]


@dataclass(slots=True)
class _Walk:
    """`steps` so far; `driven` tells which of them have about as many rows as the changes.

    Steps that are added have the numbers from `first` on.
    """

    first: int
    added: dict[object, int] = field(default_factory=dict)
    steps: list[Step | LookUp] = field(default_factory=list)
    driven: dict[int, bool] = field(default_factory=dict)

    def visit(self, outcome: Weighted) -> Weighted:
        """The outcome, its contents looked up wherever they meet something driven."""
        below = with_inputs(outcome, tuple(map(self.visit, inputs(outcome))))
        match below:
            case Pairs() | SemiJoin():
                return self._with_look_up(below)
            case KeySemiJoin(input=child, of=of, keys=keys) if self._is_driven(of):
                of = self._as_step(of)
                wanted = tuple(Key(key.column, key.column) for key in keys)
                return KeySemiJoin(self._narrowed(child, of.step, wanted), of, keys)
            case _:
                return below

    def _with_look_up(self, join: Pairs | SemiJoin) -> Pairs | SemiJoin:
        """The join with one side looked up by the other, where just one is driven.

        An anti-join's left rows are wanted also without a partner, so nothing limits them.
        """
        left, right = join.left, join.right
        is_anti = isinstance(join, SemiJoin) and join.negated
        if self._is_driven(left) == self._is_driven(right):
            return join
        if self._is_driven(left):
            if pairs := _equated(join.condition, right, left):
                left = self._as_step(left)
                right = self._narrowed(right, left.step, pairs)
        elif not is_anti and (pairs := _equated(join.condition, left, right)):
            right = self._as_step(right)
            left = self._narrowed(left, right.step, pairs)
        return _joined(join, left, right)

    def _narrowed(self, outcome: Weighted, step: int, wanted: Wanted) -> Weighted:
        """The outcome, of which only rows with these keys of the step are wanted.

        A key goes below nodes that treat each row by itself, and those that gather rows by its column.
        """
        if not wanted or self._is_driven(outcome):
            return outcome
        match outcome:
            case Read():
                return self._looked_up(outcome, step, wanted)
            case (
                DeltaFilter(input=child) | Negate(input=child) | Consolidate(input=child) | AsSet(input=child)
            ):
                return with_inputs(outcome, (self._narrowed(child, step, wanted),))
            case DeltaProject(input=child, columns=columns):
                values = {column.field.column: column.value for column in columns}
                renamed = tuple(_renamed(wanted, values))
                return with_inputs(outcome, (self._narrowed(child, step, renamed),))
            case Sum(inputs=summands, fields=columns):
                return Sum(tuple(self._summand(input, columns, step, wanted) for input in summands), columns)
            case Pairs() | SemiJoin():
                return self._narrowed_join(outcome, step, wanted)
            case KeySemiJoin(input=child, of=of, keys=keys):
                return KeySemiJoin(self._narrowed(child, step, wanted), of, keys)
            case PartialAggregate(input=child, keys=keys) | Groups(input=child, keys=keys):
                grouped = {key.column for key in keys}
                within = tuple(key for key in wanted if key.column in grouped)
                return with_inputs(outcome, (self._narrowed(child, step, within),))
            case _:
                return outcome

    def _narrowed_join(self, join: Pairs | SemiJoin, step: int, wanted: Wanted) -> Weighted:
        """One side by its wanted keys; the other then by the keys of what is found there."""
        left = self._narrowed(join.left, step, _keys_on(wanted, join.left))
        right = join.right
        if isinstance(join, Pairs):
            right = self._narrowed(right, step, _keys_on(wanted, right))
        return self._with_look_up(_joined(join, left, right))

    def _summand(self, input: Weighted, columns: tuple[Field, ...], step: int, wanted: Wanted) -> Weighted:
        own = fields(input)
        places = {column.column: place for place, column in enumerate(columns)}
        return self._narrowed(
            input, step, tuple(Key(own[places[key.column]].column, key.of) for key in wanted)
        )

    def _looked_up(self, read: Read, step: int, wanted: Wanted) -> StepRef:
        number = self._number((read, step, wanted))
        if number not in self.driven:
            self.steps.append(LookUp(number, read.buffer, read.moment, read.fields, step, wanted))
            self.driven[number] = True
        return StepRef(number, read.fields)

    def _as_step(self, outcome: Weighted) -> StepRef:
        """The outcome as a step of its own, so that it is computed once."""
        if isinstance(outcome, StepRef):
            return outcome
        number = self._number(outcome)
        if number not in self.driven:
            self.steps.append(Step(number, "rows that look up others", outcome))
            self.driven[number] = True
        return StepRef(number, fields(outcome))

    def _number(self, what: object) -> int:
        """The number of a step that is added for this; the same for the same."""
        return self.added.setdefault(what, self.first + len(self.added))

    def _is_driven(self, outcome: Weighted) -> bool:
        return is_driven(outcome, self.driven)


def _joined(join: Pairs | SemiJoin, left: Weighted, right: Weighted) -> Pairs | SemiJoin:
    match join:
        case Pairs(condition=condition):
            return Pairs(left, right, condition)
        case SemiJoin(condition=condition, negated=negated):
            return SemiJoin(left, right, condition, negated)


def _equated(condition: Scalar, content: Weighted, driven: Weighted) -> Wanted:
    """The columns of a content that a condition equates with columns of what is driven."""
    columns, keys = ({column.column for column in fields(side)} for side in (content, driven))
    pairs = (_columns(conjunct) for conjunct in conjuncts(condition))
    both_ways = (way for pair in pairs if pair is not None for way in (pair, pair[::-1]))
    return tuple(
        dict.fromkeys(Key(one, other) for one, other in both_ways if one in columns and other in keys)
    )


def _columns(condition: Scalar) -> tuple[int, int] | None:
    """The two columns that a condition says are equal, under any name of their types."""
    match condition:
        case Call(arguments=(left, right)) if is_equality(condition):
            one, other = _relabelled(left), _relabelled(right)
            return None if one is None or other is None else (one, other)
    return None


def _relabelled(scalar: Scalar) -> int | None:
    match scalar:
        case Reference(column=column):
            return column
        case Cast(argument=Reference(column=column, type=type), method=CastMethod.RELABEL, type=text) if (
            type.oid == VARCHAR and text.oid == TEXT
        ):
            return column
    return None


def _keys_on(wanted: Wanted, outcome: Weighted) -> Wanted:
    present = {column.column for column in fields(outcome)}
    return tuple(key for key in wanted if key.column in present)


def _renamed(wanted: Wanted, values: dict[int, Scalar]) -> Iterator[Key]:
    """The keys below, where their columns are those of the input."""
    for key in wanted:
        column = _relabelled(values[key.column])
        if column is not None:
            yield Key(column, key.of)
