"""LIMIT 1 for each of many groups: the rows that no row of their group precedes."""

from __future__ import annotations

from collections.abc import Mapping

from catalog.postgres.comparisons import LESS
from catalog.postgres.types import BOOLEAN
from dialect.expressions.scalar import Call, IsNull, Not, Notation, Scalar
from planner.algebra.columns import Numbers, refer, renumbered, substitute
from planner.algebra.conditions import conjunction, disjunction
from planner.algebra.equality import as_text, equal, not_distinct
from planner.algebra.logical import Distinct, Field, Join, JoinKind, Order, PlanT, Top
from planner.algebra.refused import Refused


def takes_first(top: Top) -> bool:
    """Whether this is LIMIT 1."""
    return top.limit == 1 and not top.offset


def first_of_each(plan: PlanT, keys: tuple[Field, ...], order: tuple[Order, ...], numbers: Numbers) -> PlanT:
    """The first row of each group of keys.

    The order is total but for equal rows, so only one row, perhaps several times, is preceded by no other.
    """
    rows: PlanT = Distinct(plan)
    fixed = tuple(refer(key) for key in keys)
    order = tuple(key for key in order if key.value not in fixed)
    if not order:
        return rows
    others, copies = renumbered(rows, numbers)
    copied: Mapping[int, Scalar] = {old: refer(new) for old, new in copies.items()}
    together: tuple[Scalar, ...] = tuple(_same(refer(copies[key.column]), refer(key)) for key in keys)
    before = _before(tuple((substitute(key.value, copied), key) for key in order))
    return Join(JoinKind.ANTI, rows, others, conjunction((*together, before)))


def _before(keys: tuple[tuple[Scalar, Order], ...]) -> Scalar:
    """Whether the other row precedes this one, by the first key in which they differ."""
    (other, key), *rest = keys
    earlier = _earlier(other, key)
    if not rest:
        return earlier
    return disjunction((earlier, conjunction((_same(other, key.value), _before(tuple(rest))))))


def _earlier(other: Scalar, key: Order) -> Scalar:
    first, second = (key.value, other) if key.descending else (other, key.value)
    null, value = (other, key.value) if key.nulls_first else (key.value, other)
    return disjunction((_less(first, second), conjunction((IsNull(null), Not(IsNull(value))))))


def _less(left: Scalar, right: Scalar) -> Scalar:
    left, right = as_text(left), as_text(right)
    if equal(left, right) is None:
        raise Refused.NO_ORDER.error_for(left.type)
    return Call(LESS[left.type.oid], "<", Notation.OPERATOR, (left, right), left.type.collation, BOOLEAN)


def _same(left: Scalar, right: Scalar) -> Scalar:
    same = not_distinct(left, right)
    if same is None:
        raise Refused.NO_ORDER.error_for(left.type)
    return same
