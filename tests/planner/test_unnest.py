"""What holds of plans before and after unnesting, whatever their rows are."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import pytest

from catalog.errors import StatementTooComplex
from catalog.postgres.schema import Column
from catalog.postgres.types import INT8, SqlType
from dialect.binding.bind import bind
from dialect.bound.expression import Column as BoundColumn
from dialect.bound.query import Derived, OutputColumn, Query, Select, Target
from dialect.expressions.scalar import Constant
from planner.algebra.check import check
from planner.algebra.columns import numbers_after, renumbered
from planner.algebra.logical import Distinct, Join, JoinKind, LogicalQuery, Output
from planner.algebra.tree import nodes
from planner.explain.logical_text import text
from planner.translate.translate import translate
from planner.unnest.unnest import unnest
from tests.support.binding.cases import Snapshot, read_snapshot, recorded
from tests.support.planning.cases import FOLDER, QUERIES, bound, plans

ID = OutputColumn("id", SqlType(INT8))
TPCH = sorted(QUERIES.glob("*.bound"))


@functools.cache
def snapshot() -> Snapshot:
    return read_snapshot()


def unnested(canonical: str) -> LogicalQuery:
    query = bind(canonical, snapshot().tables, snapshot().signatures, (Column(ID.name, ID.type),))
    found = unnest(translate(query, snapshot().tables))
    check(found)
    return found


@pytest.mark.parametrize("path", TPCH, ids=lambda path: path.stem)
def test_tpch_needs_no_domain(path: Path) -> None:
    """The dependence of each of its subqueries is one that a join can have."""
    for case in recorded(path):
        plan = plans(bound(case, snapshot()), snapshot()).unnested.plan
        assert not any(isinstance(node, Distinct) for node in nodes(plan))


def test_numbers_of_columns_do_not_show() -> None:
    for case in recorded(FOLDER / "subqueries.bound"):
        plan = plans(bound(case, snapshot()), snapshot()).unnested
        other, made = renumbered(plan.plan, numbers_after(plan.plan))
        outputs = tuple(Output(output.name, made[output.column].column) for output in plan.outputs)
        assert text(LogicalQuery(other, outputs)) == text(plan)


@pytest.mark.parametrize(
    "operator",
    ["(EXISTS ( SELECT 1 {}))", "(NOT (EXISTS ( SELECT 1 {})))", "(1 < ( SELECT count(*) AS count {}))"],
)
def test_sixty_subqueries_inside_each_other(operator: str) -> None:
    condition = "(t60.whole > 0)"
    for level in range(60, 0, -1):
        here = f"FROM bound.things t{level} WHERE ((t{level}.whole > t{level - 1}.whole) AND {condition})"
        condition = operator.format(here)
    unnested(f"SELECT t0.id FROM bound.things t0 WHERE {condition}")


def test_forty_joins() -> None:
    source = "bound.things t0"
    for number in range(1, 41):
        source = f"({source} LEFT JOIN bound.things t{number} ON ((t{number}.id = t{number - 1}.id)))"
    plan = unnested(f"SELECT t0.id FROM {source}").plan
    assert sum(isinstance(node, Join) and node.kind is JoinKind.LEFT for node in nodes(plan)) == 40


def test_without_end() -> None:
    """Depth is an error to the user, and the interpreter is left as it was."""
    query = Query((), _select((), Constant("1", ID.type)), (), None, None, (ID,))
    for _ in range(5000):
        inner = Derived(0, query, False, "t", (ID,))
        query = Query((), _select((inner,), BoundColumn(0, 0, 0, "id", ID.type)), (), None, None, (ID,))
    limit = sys.getrecursionlimit()
    with pytest.raises(StatementTooComplex):
        translate(query, {})
    assert sys.getrecursionlimit() == limit


def _select(sources: tuple[Derived, ...], value: Constant | BoundColumn) -> Select:
    return Select(sources, None, False, (), None, (Target("id", value),), False, ())
