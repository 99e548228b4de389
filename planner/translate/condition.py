"""WHERE, HAVING and ON: what filters rows at once, what is a join with a subquery, what follows it."""

from __future__ import annotations

from dataclasses import dataclass, field

from dialect.bound.expression import Expression
from dialect.expressions.scalar import And, Scalar
from planner.algebra.conditions import conjunction
from planner.algebra.logical import DependentPlan, Filter
from planner.translate.expression import ExpressionTranslator
from planner.translate.scope import Placement, Scope, Translator, placed
from planner.translate.subquery import place_as_join


@dataclass
class Condition:
    """A condition in parts, applied in this order: each makes fewer rows for what follows to look at."""

    plain: list[Scalar] = field(default_factory=list)
    joins: list[Placement] = field(default_factory=list)
    values: list[Placement] = field(default_factory=list)
    rest: list[Scalar] = field(default_factory=list)

    def on(self, plan: DependentPlan) -> DependentPlan:
        """The rows of the plan for which the condition is true."""
        return self.after(filtered(plan, self.plain))

    def after(self, plan: DependentPlan) -> DependentPlan:
        """The plan with the condition's joins and subqueries, filtered by the rest."""
        return filtered(placed(plan, self.joins + self.values), self.rest)


def split_condition(translator: Translator, scope: Scope, expression: Expression | None) -> Condition:
    """Split a condition into what becomes a join and what stays a condition; None is true."""
    condition = Condition()
    for conjunct in _conjuncts(expression):
        place = ExpressionTranslator(translator, scope, [])
        if place_as_join(place, conjunct):
            condition.joins += place.placements
            continue
        scalar = place.condition(conjunct)
        condition.values += place.placements
        (condition.rest if place.placements else condition.plain).append(scalar)
    return condition


def filtered(plan: DependentPlan, conditions: list[Scalar]) -> DependentPlan:
    """The plan's rows for which all conditions are true."""
    return Filter(plan, conjunction(conditions)) if conditions else plan


def _conjuncts(expression: Expression | None) -> tuple[Expression, ...]:
    match expression:
        case None:
            return ()
        case And(arguments=arguments):
            return arguments
    return (expression,)
