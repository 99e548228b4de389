"""How outer, semi- and anti-joins follow changes, for any condition, NULLs, duplicates, both sides at once.

X |> Y has the rows of X without a partner in Y, X |x Y those with one; both are linear in X for a fixed Y.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from dialect.expressions.scalar import Constant, Scalar
from planner.algebra.columns import refer, references
from planner.algebra.logical import Computed, Field, Join, JoinKind
from planner.delta.foreign_keys import Fresh, chosen
from planner.delta.linear import Moments, Steps, keep
from planner.delta.weighted import Consolidate, DeltaProject, Negate, Pairs, SemiJoin, Sum, Weighted, fields


def join_change(join: Join, left: Moments, right: Moments, fresh: Fresh, steps: Steps) -> Weighted:
    """The change of a join that asks for partners."""
    condition = join.condition
    columns = fields(left.change) + fields(right.change)
    match join.kind:
        case JoinKind.INNER:
            raise AssertionError("an inner join is derived with all its inputs at once")
        case JoinKind.SEMI | JoinKind.ANTI:
            return _partnership(left, right, condition, fresh, steps).rows(join.kind is JoinKind.ANTI)
        case JoinKind.LEFT:
            return _outer(left, right, condition, fresh, steps)
        case JoinKind.RIGHT:
            return keep(_outer(right, left, condition, fresh, steps), columns)
        case JoinKind.FULL:
            unmatched = _partnership(right, left, condition, fresh, steps).rows(negated=True)
            outer = _outer(left, right, condition, fresh, steps)
            return Sum((outer, _padded(unmatched, columns)), columns)
        case _:
            assert_never(join.kind)


def _outer(left: Moments, right: Moments, condition: Scalar, fresh: Fresh, steps: Steps) -> Weighted:
    """L ->< R = L x R + padded(L |> R).

    d(L x R) = dL x R0 + L1 x dR: only affected rows of L1 meet dR, and only partners in R0 meet dL.
    """
    partnership = _partnership(left, right, condition, fresh, steps)
    first = Pairs(left.change, partnership.partners, condition)
    second = Pairs(partnership.affected, right.change, condition)
    columns = fields(first)
    return Sum((first, second, _padded(partnership.rows(negated=True), columns)), columns)


def _padded(rows: Weighted, columns: tuple[Field, ...]) -> Weighted:
    """The rows, with NULL in the columns that they lack."""
    present = {field.column for field in fields(rows)}
    values = (refer(field) if field.column in present else Constant(None, field.type) for field in columns)
    return DeltaProject(rows, tuple(map(Computed, columns, values)))


@dataclass(frozen=True, slots=True)
class _Partnership:
    """Left rows whose partners changed (`affected`), the right rows BEFORE that they can meet (`partners`),
    and the distinct right rows BEFORE and AFTER by the columns that the condition reads."""

    change: Weighted
    affected: Weighted
    partners: Weighted
    present_before: Weighted
    present_after: Weighted
    condition: Scalar

    def rows(self, negated: bool) -> Weighted:
        """d(L |> R) = dL |> R0 + A |> R1 - A |> R0 with A = L1 |x dR; likewise for |x.

        L1 |> R1 - L0 |> R0 = (L1 |> R1 - L1 |> R0) + dL |> R0, and a row of L1 outside A has the same
        partners in R0 and R1, so it falls out of the bracket.
        """

        def by(left: Weighted, right: Weighted) -> Weighted:
            return SemiJoin(left, right, self.condition, negated)

        before, after = self.present_before, self.present_after
        return Sum(
            (by(self.change, before), by(self.affected, after), Negate(by(self.affected, before))),
            fields(self.change),
        )


def _partnership(
    left: Moments, right: Moments, condition: Scalar, fresh: Fresh, steps: Steps
) -> _Partnership:
    """Each state is read once, and only the rows of it that meet the condition with a row of the changes.

    A row is present if the sum of its weights is positive, so the partners are consolidated; R0 and R1 are
    bags, so no sum is negative. Only the columns that the condition reads are kept: fewer rows, same truth.
    Rows of dR that no left row meets are kept as well, since they are partners of none.
    """
    new, old_and_new = (
        SemiJoin(rows, right.change, condition, negated=False) for rows in (left.change, left.after)
    )
    affected = steps.add("rows whose partners change", chosen(fresh(right, left), new, old_and_new))
    concerned = Sum((left.change, affected), fields(affected))
    partners = steps.add("their partners before", SemiJoin(right.before, concerned, condition, negated=False))
    looked_at = tuple(field for field in fields(partners) if field.column in references(condition))
    before = steps.add("partners present before", Consolidate(keep(partners, looked_at)))
    arrived = keep(right.change, looked_at)
    after = steps.add("partners present after", Consolidate(Sum((before, arrived), looked_at)))
    return _Partnership(left.change, affected, partners, before, after, condition)
