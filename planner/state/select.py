"""The dynamic program: for every operator, both kinds of output and every budget the states to keep.

With D(m) and F(m) the least cost at which an operator and all below it emit a change, or everything, within m
bytes, both are the least over its actions a of

    cost(a) + min over m1 + m2 + ... <= m - bytes(a) of the sum of D or F of its inputs at m1, m2, ...

as the action needs a change of them or everything. D and F fall in m, by few steps, so each is computed once,
as its steps: that is the bisection of budgets brought to its end, where a budget in bytes costs no more than
one in megabytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from planner.state.frontier import FREE, Frontier, Point
from planner.state.operator import Action, Emission, Operator, Output


def best(operator: Operator, output: Output) -> Frontier:
    """The cheapest choices for an operator and all below it to emit this output, for every budget."""
    return _Selection().best(operator, output)


@dataclass(slots=True)
class _Selection:
    """What was computed so far; from the top down, each operator once for each output."""

    known: dict[tuple[Operator, Output], Frontier] = field(default_factory=dict)

    def best(self, operator: Operator, output: Output) -> Frontier:
        if (operator, output) not in self.known:
            points = (
                point
                for action in operator.actions
                if (emission := action.emits.get(output)) is not None
                for point in self._points(operator, action, emission)
            )
            self.known[operator, output] = Frontier.of(points)
        return self.known[operator, output]

    def _points(self, operator: Operator, action: Action, emission: Emission) -> Iterator[Point]:
        below = FREE
        for input, need in zip(operator.inputs, emission.needs, strict=True):
            if need is not None:
                below = below.beside(self.best(input, need))
        yield from below.above(action.bytes, emission.cost, action.keeps).points
