"""The steps by which each part of a query is computed, in the order in which they run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final, assert_never

from dialect.expressions.scalar import Scalar
from planner.algebra.conditions import is_true
from planner.delta.weighted import (
    AsSet,
    Choose,
    Consolidate,
    DeltaFilter,
    DeltaPlan,
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
from planner.delta.weighted_tree import inputs, within
from planner.explain.parts import PartsText
from planner.explain.schedule_text import named
from planner.firing.stepwise import Key, LookUp, stepwise

_WIDTH: Final = 100
"""What is longer stands on several lines: first what is done last, and below it with what."""

_MOMENTS: Final = {Moment.BEFORE: "before the changes", Moment.AFTER: "after the changes"}


def steps_text(plan: DeltaPlan) -> str:
    """For each part its steps as they run: rows that are computed, and contents looked up by key."""
    return "".join(
        f"{part}:\n" + "".join(f"  {line}\n" for line in lines) for part, lines in steps_values(plan).items()
    )


def steps_values(plan: DeltaPlan) -> dict[str, list[str]]:
    """The same as JSON has it: the lines of each part."""
    return {named(plan, subplan.writes): list(_StepLines(plan, subplan).lines()) for subplan in plan.subplans}


class _ShortNames(PartsText):
    """Writes columns by their names, with numbers for those that share one."""

    def __init__(self, names: dict[int, str]) -> None:
        super().__init__(names)
        self._own_names = names
        self._counts = Counter(names.values())

    def column(self, column: int) -> str:
        """The column's name, with a number where another one is called the same."""
        name = self._own_names[column]
        return name if self._counts[name] == 1 else super().column(column)


class _StepLines:
    """Writes the steps of one subplan."""

    def __init__(self, plan: DeltaPlan, subplan: Subplan) -> None:
        self._plan = plan
        self._subplan = subplan
        self._steps = stepwise(subplan)
        self._places = {step.number: place for place, step in enumerate(self._steps, 1)}
        computed = (step.outcome for step in self._steps if isinstance(step, Step))
        looked_up = (step.fields for step in self._steps if isinstance(step, LookUp))
        rows = (*(fields(node) for outcome in computed for node in within(outcome)), *looked_up)
        self._parts = _ShortNames({field.column: field.name for row in rows for field in row})

    def lines(self) -> Iterator[str]:
        """A line for each look-up; for other steps one or more."""
        given = {step.number: step.what for step in self._subplan.steps}
        for step in self._steps:
            place = self._places[step.number]
            match step:
                case LookUp(buffer=buffer, moment=moment, of=of, keys=keys):
                    by, content = ", ".join(map(self._key, keys)), self._content(buffer, moment)
                    yield f"{place}. look up {content} by {by} of step {self._places[of]}"
                case Step(number=number, outcome=outcome):
                    what = f"{given[number]}: " if number in given else ""
                    first, *others = self._outcome(outcome, _WIDTH - len(what))
                    yield f"{place}. {what}{first}"
                    yield from (f"     {line}" for line in others)
                case _:
                    assert_never(step)

    def _outcome(self, outcome: Weighted, width: int) -> Iterator[str]:
        """The outcome on one line where it fits, else its node, and each of its inputs below."""
        text = self._text(outcome)
        below = inputs(outcome)
        if len(text) <= width or not below:
            yield text
            return
        match outcome:
            case DeltaProject(input=child) | Consolidate(input=child):
                yield from self._outcome(child, width)
            case _:
                yield self._node(outcome)
                for input in below:
                    yield from (f"  {line}" for line in self._outcome(input, width - 2))

    def _node(self, outcome: Weighted) -> str:
        """The words for a node whose inputs stand below it."""
        match outcome:
            case Choose(guard=guard):
                return f"the first of these if {self._guard(guard)}, else the second"
            case Sum():
                return "all of these"
            case _:
                words = ("these", "those")[: len(inputs(outcome))]
                return self._words(outcome, *words)

    def _text(self, outcome: Weighted) -> str:
        """The outcome on one line."""
        match outcome:
            case Read(buffer=buffer, moment=Moment.CHANGE):
                return f"changes of {named(self._plan, buffer)}"
            case Read(buffer=buffer, moment=moment):
                return f"all of {self._content(buffer, moment)}"
            case StepRef(step=step):
                return f"step {self._places[step]}"
            case Rows(rows=rows):
                return f"{len(rows)} rows written out" if rows else "no rows"
            case Sum(inputs=summands):
                return f"({' '.join(map(self._summand, summands)).removeprefix('+ ')})"
            case Choose(guard=guard, shortcut=shortcut, general=general):
                return f"({self._text(shortcut)} if {self._guard(guard)}, else {self._text(general)})"
            case _:
                return self._words(outcome, *map(self._text, inputs(outcome)))

    def _words(self, outcome: Weighted, left: str, right: str = "") -> str:
        """The words for a node and these inputs."""
        parts = self._parts
        match outcome:
            case DeltaFilter(condition=condition):
                return f"{left} where {parts.text(condition)}"
            case DeltaProject() | Consolidate():
                return left
            case AsSet():
                return f"different rows of {left}"
            case Negate():
                return f"minus {left}"
            case Pairs(condition=condition):
                return f"({left} joined with {right}{self._on(condition)})"
            case SemiJoin(condition=condition, negated=negated):
                return f"({left} with {'no' if negated else 'a'} partner in {right}{self._on(condition)})"
            case KeySemiJoin(keys=keys):
                return f"{left} with {parts.fields(keys)} of {right}"
            case PartialAggregate(keys=keys) | Groups(keys=keys):
                return f"{left} grouped" + (f" by {parts.fields(keys)}" if keys else " as a whole")
            case First(order=order, limit=limit, offset=offset):
                first = "all" if limit is None else f"the first {limit}"
                after = f" after {offset}" if offset else ""
                return f"{first}{after} of {left} by {parts.order(order)}"
            case _:
                raise AssertionError("a node without these inputs")

    def _summand(self, outcome: Weighted) -> str:
        match outcome:
            case Negate(input=child):
                return f"- {self._text(child)}"
            case _:
                return f"+ {self._text(outcome)}"

    def _key(self, key: Key) -> str:
        """A column, and that of the step whose values it is looked up by, if that is called otherwise."""
        column, of = self._parts.column(key.column), self._parts.column(key.of)
        return column if column == of else f"{column} = {of}"

    def _on(self, condition: Scalar) -> str:
        return "" if is_true(condition) else f" on {self._parts.text(condition)}"

    def _content(self, buffer: int, moment: Moment) -> str:
        name = "its own rows" if buffer == self._subplan.writes else named(self._plan, buffer)
        return name if buffer == self._subplan.writes else f"{name} {_MOMENTS[moment]}"

    def _guard(self, guard: Guard) -> str:
        grown = [f"{named(self._plan, buffer)} only grew" for buffer in guard.appended]
        level = [
            f"{named(self._plan, child)} has no row without one in {named(self._plan, parent)}"
            for parent, child in guard.level
        ]
        return " and ".join(grown + level)
