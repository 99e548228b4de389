"""Which states a query keeps and why, and what other budgets would change, for EXPLAIN (STATE)."""

from __future__ import annotations

from collections.abc import Iterator
from math import isinf
from typing import Any, Final

from planner.delta.weighted import DeltaPlan, TableBuffer
from planner.explain.schedule_text import figure, named, rounded
from planner.firing.states import State
from planner.state.choose import Decision, StateChoice

_OTHERS: Final = (("half of that", 0.5), ("twice that", 2.0))
_UNITS: Final = (("GB", 2**30), ("MB", 2**20), ("kB", 2**10))


def states_text(plan: DeltaPlan, choice: StateChoice) -> str:
    """A line for each state, and one for each of two other budgets."""
    lines = [f"Memory budget: {_size(choice.budget)}, of which {_size(choice.bytes)} are taken"]
    lines += [_line(plan, decision) for decision in choice.decisions]
    lines += [_other(name, values) for name, values in _others(choice)]
    return "\n".join(lines) + "\n"


def states_values(plan: DeltaPlan, choice: StateChoice) -> dict[str, Any]:
    """The same as JSON has it."""
    return {
        "budget": None if isinf(choice.budget) else int(choice.budget),
        "bytes": choice.bytes,
        "states": [
            {
                "state": named(plan, decision.state.buffer),
                "key": key_names(plan, decision.state),
                "kept": decision.is_kept,
                "why": decision.why,
                "bytes": decision.bytes,
                "saves": rounded(decision.saves),
            }
            for decision in choice.decisions
        ],
        "budgets": dict(_others(choice)),
    }


def key_names(plan: DeltaPlan, state: State) -> list[str]:
    """The names of the columns of a state's key."""
    first = plan.buffers[state.buffer]
    if not isinstance(first, TableBuffer):
        names = {field.column: field.name for field in first.fields}
        return [names[column] for column in state.key]
    alike = [
        buffer for buffer in plan.buffers if isinstance(buffer, TableBuffer) and buffer.table == first.table
    ]
    names = {
        attribute: field.name
        for buffer in alike
        for field, attribute in zip(buffer.fields, buffer.attributes, strict=True)
    }
    return [names[attribute] for attribute in state.key]


def _line(plan: DeltaPlan, decision: Decision) -> str:
    content = f"{named(plan, decision.state.buffer)} by {', '.join(key_names(plan, decision.state))}"
    return f"{content}: {'kept' if decision.is_kept else 'dropped'}, {_size(decision.bytes)}: {decision.why}"


def _others(choice: StateChoice) -> Iterator[tuple[str, dict[str, Any]]]:
    """What the model says of a period within other budgets, beside this one."""
    if not choice.decisions:
        return
    budget = min(choice.budget, choice.wanted)
    here, cost = choice.frontier.at(budget), choice.cost(budget)
    assert here is not None, "nothing has to be kept"
    for name, factor in _OTHERS:
        other = choice.frontier.at(factor * budget)
        assert other is not None, "nothing has to be kept"
        yield (
            name,
            {
                "bytes": other.bytes,
                "more": len(other.keeps - here.keeps),
                "fewer": len(here.keeps - other.keeps),
                "work": rounded(other.cost / cost) if cost else 1.0,
            },
        )


def _other(name: str, values: dict[str, Any]) -> str:
    if not values["more"] and not values["fewer"]:
        return f"With {name}: the same"
    return (
        f"With {name}: {values['more']} more kept, {values['fewer']} fewer, "
        f"{figure(float(values['work']))} of the work"
    )


def _size(bytes: float) -> str:
    """A size to three digits."""
    if isinf(bytes):
        return "unlimited"
    return next(
        (f"{figure(bytes / unit)} {name}" for name, unit in _UNITS if bytes >= unit), f"{bytes:.0f} B"
    )
