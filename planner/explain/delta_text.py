"""A delta plan as text to read and compare: the same for the same plan, whatever its columns' numbers are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from planner.algebra.conditions import is_true
from planner.algebra.logical import Field
from planner.delta.weighted import (
    AsSet,
    Buffer,
    Choose,
    Consolidate,
    DeltaFilter,
    DeltaPlan,
    DeltaProject,
    First,
    Groups,
    Guard,
    KeySemiJoin,
    Negate,
    NodeBuffer,
    Pairs,
    PartialAggregate,
    Read,
    Rows,
    SemiJoin,
    StepRef,
    Subplan,
    Sum,
    TableBuffer,
    Tallied,
    Weighted,
    fields,
)
from planner.delta.weighted_tree import inputs, within
from planner.explain.parts import PartsText


def delta_text(plan: DeltaPlan) -> str:
    """Every buffer, a node's with the steps that write it; a line for each node."""
    outcomes = (step.outcome for subplan in plan.subplans for step in subplan.steps)
    named = (field for outcome in outcomes for node in within(outcome) for field in fields(node))
    lines = _Lines(PartsText({field.column: field.name for field in named}))
    subplans = {subplan.writes: subplan for subplan in plan.subplans}
    written = (line for buffer in plan.buffers for line in lines.buffer(buffer, subplans.get(buffer.number)))
    return "\n".join(written) + "\n"


class _Lines:
    def __init__(self, parts: PartsText) -> None:
        self._parts = parts

    def buffer(self, buffer: Buffer, subplan: Subplan | None) -> Iterator[str]:
        columns = self._parts.fields(buffer.fields)
        match buffer:
            case TableBuffer(number=number, table=table):
                yield f"{number} table {table.schema}.{table.name}: {columns}".rstrip()
            case NodeBuffer(number=number, what=what):
                assert subplan is not None, "no subplan writes the buffer"
                yield f"{number} {what}, {subplan.method}: {columns}".rstrip()
                for step in subplan.steps:
                    yield f"  step {step.number}: {step.what}"
                    yield from self._outcome(step.outcome, "    ")
            case _:
                assert_never(buffer)

    def _outcome(self, outcome: Weighted, indent: str) -> Iterator[str]:
        yield indent + self._node(outcome)
        for input in inputs(outcome):
            yield from self._outcome(input, indent + "  ")

    def _node(self, outcome: Weighted) -> str:
        match outcome:
            case Read(buffer=buffer, moment=moment):
                return f"Read {buffer} {moment.value}"
            case StepRef(step=step):
                return f"StepRef {step}"
            case Rows(rows=rows):
                written = (f"({', '.join(map(self._parts.text, row))})" for row in rows)
                return f"Rows {', '.join(written)}".rstrip()
            case DeltaFilter(condition=condition):
                return f"Filter {self._parts.text(condition)}"
            case DeltaProject(columns=columns):
                return f"Project {self._parts.computed(columns)}".rstrip()
            case Choose(guard=guard):
                return f"Choose {_guard(guard)}"
            case Sum() | Negate() | Consolidate() | AsSet():
                return type(outcome).__name__
            case _:
                return self._meeting(outcome)

    def _meeting(self, outcome: Pairs | SemiJoin | KeySemiJoin | PartialAggregate | Groups | First) -> str:
        """The line of a node that joins rows."""
        match outcome:
            case Pairs(condition=condition):
                return "Pairs" + ("" if is_true(condition) else f" on {self._parts.text(condition)}")
            case SemiJoin(condition=condition, negated=negated):
                on = "" if is_true(condition) else f" on {self._parts.text(condition)}"
                return ("AntiJoin" if negated else "SemiJoin") + on
            case KeySemiJoin(keys=keys):
                return f"KeySemiJoin {self._parts.fields(keys)}"
            case PartialAggregate(keys=keys, columns=tallied):
                columns = ", ".join(map(self._tallied, tallied))
                return f"PartialAggregate{self._by(keys)}: {columns}"
            case Groups(keys=keys, columns=aggregated):
                return f"Groups{self._by(keys)}: {self._parts.aggregated(aggregated)}".removesuffix(": ")
            case First(order=order, limit=limit, offset=offset):
                first = "all" if limit is None else str(limit)
                after = f" after {offset}" if offset else ""
                return f"First {first}{after} by {self._parts.order(order)}"
            case _:
                assert_never(outcome)

    def _by(self, keys: tuple[Field, ...]) -> str:
        return f" by {self._parts.fields(keys)}" if keys else ""

    def _tallied(self, tallied: Tallied) -> str:
        value = "" if tallied.value is None else f" {self._parts.text(tallied.value)}"
        return f"{self._parts.fields((tallied.field,))} = {tallied.tally.value}{value}"


def _guard(guard: Guard) -> str:
    conditions = [f"{buffer} only grew" for buffer in guard.appended]
    conditions += [f"{one} is level with {other}" for one, other in guard.level]
    return f"if {' and '.join(conditions)}"
