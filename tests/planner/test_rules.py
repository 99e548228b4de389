"""Plans as the rules leave them, recorded; each case names rules that must, or must not, have changed it.

A case is a query in PostgreSQL's canonical form over the tables of tests/dialect/bind, then `----` and the
plan. In the line above it: `expect=rule`, `expect-not=rule`, and `off=rule` for rules that are switched off.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from catalog.postgres.schema import TableName
from dialect.binding.canonical_text import read_query
from dialect.binding.query import QueryBinder
from dialect.binding.views import BoundViews
from dialect.expressions.scalar import And
from planner.algebra.conditions import TRUE
from planner.algebra.logical import Filter, Plan
from planner.algebra.statistics import Statistics, TableStatistics
from planner.algebra.tree import transform
from planner.explain.logical_text import text
from planner.optimise.optimise import MOST_ROUNDS, Stage, Step, UnsettledRulesWarning, optimise
from planner.optimise.rules import order_joins
from planner.translate.translate import translate
from planner.unnest.unnest import unnest
from tests.support.binding.cases import Snapshot, read_snapshot
from tests.support.recording import RECORDING

FOLDER: Final = Path(__file__).parent / "rules"
_FLAG: Final = re.compile(r"(expect|expect-not|off)=(\w+)")
_NO_VIEWS: Final = BoundViews({}, lambda _view, _others: pytest.fail("no view here"))
_ROWS: Final = {"things": 100_000.0, "others": 1_000_000.0, "lineitem": 6e6, "orders": 1.5e6, "nation": 25.0}


@dataclass(frozen=True, slots=True)
class Case:
    """A query, what is asked of the rules, and the plan recorded."""

    flags: str
    sql: str
    plan: str

    def named(self, flag: str) -> frozenset[str]:
        """The rules of a flag."""
        return frozenset(name for kind, name in _FLAG.findall(self.flags) if kind == flag)

    def text(self) -> str:
        """As it stands in its file."""
        return f"{self.flags}\n{self.sql}\n----\n{self.plan}\n"


def cases(path: Path) -> list[Case]:
    found = []
    for block in re.split(r"\n(?=expect)", path.read_text()):
        flags, _, rest = block.partition("\n")
        sql, _, plan = rest.partition("\n----")
        found.append(Case(flags, sql, plan.strip("\n")))
    return found


FILES: Final = sorted(FOLDER.glob("*.plan"))
CASES: Final = [
    pytest.param(path, number, id=f"{path.stem}-{number}")
    for path in FILES
    for number in range(len(cases(path)))
]


@cache
def snapshot() -> Snapshot:
    return read_snapshot()


def planned(case: Case) -> tuple[str, set[str]]:
    """The text of the optimised plan, and the rules that changed it."""
    known = snapshot()
    query = QueryBinder(known.signatures, known.tables, _NO_VIEWS).query(read_query(case.sql), None)
    statistics = Statistics(
        {
            name: TableStatistics(_ROWS.get(name.name, 1000.0))
            for name in known.tables
            if isinstance(name, TableName)
        }
    )
    fired: set[str] = set()
    outcome = optimise(
        unnest(translate(query, known.tables)),
        known.tables,
        statistics,
        case.named("off"),
        lambda rule, _plan: fired.add(rule),
    )
    return text(outcome).rstrip("\n"), fired


@pytest.mark.parametrize(("path", "number"), CASES)
def test_as_recorded(path: Path, number: int) -> None:
    case = cases(path)[number]
    outcome, fired = planned(case)
    assert case.named("expect") <= fired
    assert not case.named("expect-not") & fired
    if RECORDING:
        every = cases(path)
        every[number] = replace(case, plan=outcome)
        path.write_text("\n".join(case.text() for case in every))
    else:
        assert outcome == case.plan


def reverse_conjuncts(plan: Plan) -> Plan:
    return transform(plan, _reversed)


def _reversed(plan: Plan) -> Plan:
    match plan:
        case Filter(condition=And(arguments=arguments)):
            return replace(plan, condition=And(arguments[::-1]))
    return plan


def filter_once_more(plan: Plan) -> Plan:
    return Filter(plan, TRUE)


@pytest.mark.parametrize(("rule", "rounds"), [(reverse_conjuncts, 2), (filter_once_more, MOST_ROUNDS)])
def test_rules_that_never_settle_are_a_warning_and_an_error_in_tests(
    rule: Callable[[Plan], Plan], rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case("off=prune_columns", "SELECT label FROM bound.things WHERE whole > 1 AND whole < 9", "")
    monkeypatch.setattr(
        "planner.optimise.optimise.stages",
        lambda *_: (Stage("odd", (Step("odd_rule", rule, "it is tried"),)),),
    )
    said = f"the rules odd_rule of the stage 'odd' do not settle: .* after {rounds} rounds"
    with pytest.warns(UnsettledRulesWarning, match=said):
        _plan, fired = planned(case)
    assert fired == {"odd_rule"}
    with pytest.raises(UnsettledRulesWarning):
        planned(case)


def test_every_rule_has_cases_that_need_it_and_one_that_it_has_to_leave_alone() -> None:
    folder = Path(order_joins.__file__).parent
    rules = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert rules == {path.stem for path in FILES}
    for path in FILES:
        needing = [case for case in cases(path) if path.stem in case.named("expect")]
        left = [case for case in cases(path) if path.stem in case.named("expect-not")]
        assert len(needing) >= 2 and left, path.stem
