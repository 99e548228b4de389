"""What is equal to a column that a condition restricts is restricted too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from dialect.scalar import Reference, Scalar
from planner.columns import column_numbers, references, substitute
from planner.conditions import column_equality, conjunction, conjuncts
from planner.equality import agrees
from planner.logical import Filter, Join, JoinKind, Plan
from planner.rules.push_filters import filtered


def infer_equalities(plan: Plan) -> Plan:
    """⋈_(a = b) of x and σ_p(a)(y) = ⋈_(a = b) of σ_p(b)(x) and σ_p(a)(y); and a = b, b = c give a = c.

    Only where p is the same for equal values: 0 and -0 are equal, but not as texts.
    Also to the padded side of an outer join, whose rows find a partner only under the condition; never to
    the kept side: `a LEFT JOIN b ON a.x = b.x AND b.x = 1` keeps rows of a with other values.
    """
    match plan:
        case Join(kind=JoinKind.INNER, left=left, right=right, condition=condition):
            known = (*conjuncts(condition), *_asked(left), *_asked(right))
            new = [condition for condition in _consequences(known) if condition not in known]
            on_left = [condition for condition in new if references(condition) <= column_numbers(left)]
            on_right = [condition for condition in new if references(condition) <= column_numbers(right)]
            if new:
                across = [
                    condition for condition in new if condition not in on_left and condition not in on_right
                ]
                return Join(
                    JoinKind.INNER,
                    filtered(left, on_left),
                    filtered(right, on_right),
                    conjunction((condition, *across)),
                )
        case Join(kind=JoinKind.LEFT | JoinKind.SEMI | JoinKind.ANTI as kind, left=left, right=right):
            known = (*conjuncts(plan.condition), *_asked(left), *_asked(right))
            new = [condition for condition in _consequences(known) if condition not in known]
            on_right = [condition for condition in new if references(condition) <= column_numbers(right)]
            if on_right:
                return Join(kind, left, filtered(right, on_right), plan.condition)
    return plan


def _asked(plan: Plan) -> tuple[Scalar, ...]:
    """What is true of every row of the plan, so far as it is written at the top of it."""
    match plan:
        case Filter(input=child, condition=condition):
            return (*conjuncts(condition), *_asked(child))
        case Join(kind=JoinKind.INNER, left=left, right=right, condition=condition):
            return (*conjuncts(condition), *_asked(left), *_asked(right))
        case Join(kind=JoinKind.LEFT | JoinKind.SEMI | JoinKind.ANTI, left=left):
            return _asked(left)
        case Join(kind=JoinKind.RIGHT, right=right):
            return _asked(right)
    return ()


def _consequences(known: Iterable[Scalar]) -> Iterator[Scalar]:
    """Each condition on one column, said of the columns equal to it; and the equalities of a class."""
    known = tuple(known)
    equal = _classes(known)
    for condition in known:
        pair = column_equality(condition)
        read = references(condition)
        if pair is not None or len(read) != 1:
            continue
        (number,) = read
        for other in equal.get(number, ()):
            if other.column != number and agrees(condition, number):
                yield substitute(condition, {number: other})


def _classes(known: Iterable[Scalar]) -> Mapping[int, tuple[Reference, ...]]:
    """For each column that is equal to another, all of its class."""
    classes: dict[int, dict[int, Reference]] = {}
    for condition in known:
        pair = column_equality(condition)
        if pair is not None and pair[0].type == pair[1].type:
            merged = {reference.column: reference for reference in pair}
            for reference in pair:
                merged |= classes.get(reference.column, {})
            classes |= dict.fromkeys(merged, merged)
    return {number: tuple(members.values()) for number, members in classes.items()}
