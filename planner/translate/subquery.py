"""Subqueries inside expressions: a join where only their truth counts, else a value joined on."""

from __future__ import annotations

from catalog.postgres.types import BOOLEAN
from dialect.bound.expression import Exists, Expression, QuantifiedSubquery
from dialect.bound.query import Query
from dialect.expressions.scalar import Branch, Call, Case, Constant, IsNull, Not, Quantifier, Scalar
from planner.algebra.columns import refer
from planner.algebra.conditions import FALSE, TRUE, conjunction, disjunction
from planner.algebra.counts import COUNT, count_rows, is_positive
from planner.algebra.logical import (
    SINGLE,
    Aggregate,
    AggregateCall,
    Aggregated,
    DependentPlan,
    Filter,
    JoinKind,
)
from planner.facts.row_limits import at_most_one_row, exactly_one_row
from planner.translate.scope import Place, Placement, Relation


def place_as_join(place: Place, condition: Expression) -> bool:
    """Whether the condition is one that a semi-join or an anti-join decides, which then is placed.

    A row stays under NOT IN only if no comparison is true or NULL, under op ALL if none is false or NULL.
    """
    match condition:
        case Exists(query=query):
            _place(place, JoinKind.SEMI, place.translator.existence(query, place.scope), TRUE)
        case Not(argument=Exists(query=query)):
            _place(place, JoinKind.ANTI, place.translator.existence(query, place.scope), TRUE)
        case QuantifiedSubquery(quantifier=Quantifier.ANY):
            relation, comparison = _compared(place, condition)
            _place(place, JoinKind.SEMI, relation.plan, comparison)
        case Not(argument=QuantifiedSubquery(quantifier=Quantifier.ANY) as quantified_):
            relation, comparison = _compared(place, quantified_)
            _place(place, JoinKind.ANTI, relation.plan, disjunction((comparison, IsNull(comparison))))
        case QuantifiedSubquery(quantifier=Quantifier.ALL):
            relation, comparison = _compared(place, condition)
            unless = disjunction((Not(comparison), IsNull(comparison)))
            _place(place, JoinKind.ANTI, relation.plan, unless)
        case Not(argument=QuantifiedSubquery(quantifier=Quantifier.ALL) as quantified_):
            relation, comparison = _compared(place, quantified_)
            _place(place, JoinKind.SEMI, relation.plan, Not(comparison))
        case _:
            return False
    return True


def single_value(place: Place, query: Query) -> Scalar:
    """The value of a scalar subquery; that it has one row at most is seen here or tested at run time."""
    relation = place.translator.query(query, place.scope)
    (column,) = relation.columns
    if exactly_one_row(relation.plan):
        _place(place, JoinKind.INNER, relation.plan, TRUE)
    elif at_most_one_row(relation.plan, place.translator.tables):
        _place(place, JoinKind.LEFT, relation.plan, TRUE)
    else:
        call = AggregateCall(SINGLE, "single", (refer(column),), column.type)
        column = place.translator.numbers.field(column.name, column.type)
        _place(place, JoinKind.INNER, Aggregate(relation.plan, (), (Aggregated(column, call),)), TRUE)
    return refer(column)


def exists(place: Place, query: Query) -> Scalar:
    """EXISTS as a value."""
    return _counted(place, place.translator.existence(query, place.scope), "rows")


def quantified_truth(place: Place, subquery: QuantifiedSubquery) -> Scalar:
    """Whether `op ANY` is true; false also where it is NULL."""
    relation, comparison = _compared(place, subquery)
    return _counted(place, Filter(relation.plan, comparison), "matches")


def quantified(place: Place, subquery: QuantifiedSubquery) -> Scalar:
    """`op ANY` and `op ALL` as values of three kinds: what decides, then what is unknown, then the rest."""
    for_all = subquery.quantifier is Quantifier.ALL
    relation, comparison = _compared(place, subquery)
    deciding = Not(comparison) if for_all else comparison
    decided = _counted(place, Filter(relation.plan, deciding), "matches")
    unknown = _unknown(place, subquery)
    branches = (Branch(decided, FALSE if for_all else TRUE), Branch(unknown, Constant(None, BOOLEAN)))
    return Case(branches, TRUE if for_all else FALSE, BOOLEAN)


def _unknown(place: Place, subquery: QuantifiedSubquery) -> Scalar:
    """Whether a comparison is NULL.

    Operators of comparison are strict: NULL where either side is, so each side can be looked at alone.
    """
    relation, comparison = _compared(place, subquery)
    if not isinstance(comparison, Call):
        return _counted(place, Filter(relation.plan, IsNull(comparison)), "unknown")
    outer, inner = comparison.arguments
    rows, nulls = (place.translator.numbers.field(name, COUNT) for name in ("rows", "nulls"))
    columns = (Aggregated(rows, count_rows()), Aggregated(nulls, count_rows(IsNull(inner))))
    _place(place, JoinKind.INNER, Aggregate(relation.plan, (), columns), TRUE)
    return disjunction((is_positive(nulls), conjunction((IsNull(outer), is_positive(rows)))))


def _compared(place: Place, subquery: QuantifiedSubquery) -> tuple[Relation, Scalar]:
    relation = place.translator.query(subquery.query, place.scope)
    comparing = place.comparing(relation.columns)
    return relation, conjunction(comparing.scalar(comparison) for comparison in subquery.comparisons)


def _counted(place: Place, plan: DependentPlan, name: str) -> Scalar:
    """Whether the plan has a row."""
    count = place.translator.numbers.field(name, COUNT)
    _place(place, JoinKind.INNER, Aggregate(plan, (), (Aggregated(count, count_rows()),)), TRUE)
    return is_positive(count)


def _place(place: Place, kind: JoinKind, plan: DependentPlan, condition: Scalar) -> None:
    place.placements.append(Placement(kind, plan, condition))
