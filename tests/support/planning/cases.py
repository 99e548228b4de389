"""Statements (`x.sql`) and the plans that are made of them (`x.plan`, recorded)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from catalog.errors import Error
from dialect.binding.bind import bind
from dialect.bound.query import Query
from planner.algebra.check import check
from planner.algebra.logical import DependentPlan, LogicalQuery
from planner.explain.logical_text import text
from planner.translate.translate import translate
from planner.unnest.unnest import unnest
from tests.support.binding import cases
from tests.support.binding.cases import Recorded, Snapshot
from tests.support.checkout import ROOT

FOLDER = ROOT / "tests" / "planner" / "recorded"
QUERIES = cases.FOLDER / "tpch"
_END = "\n====\n"


@dataclass(frozen=True)
class Plans:
    """What is made of a bound query before any rule."""

    translated: LogicalQuery[DependentPlan]
    unnested: LogicalQuery


def plans(query: Query, snapshot: Snapshot) -> Plans:
    """Both plans, checked."""
    translated = translate(query, snapshot.tables)
    check(translated)
    unnested = unnest(translated)
    check(unnested)
    return Plans(translated, unnested)


def bound(case: Recorded, snapshot: Snapshot) -> Query:
    """The bound query of a recorded view."""
    return bind(case.canonical, snapshot.tables, snapshot.signatures, case.columns)


def plan_text(case: Recorded, snapshot: Snapshot) -> str:
    """Both plans as text, or the one where they are the same, or the refusal."""
    try:
        made = plans(bound(case, snapshot), snapshot)
    except Error as error:
        return f"{error.sqlstate}: {error.message}\nhint: {error.hint}\n"
    before, after = text(made.translated), text(made.unnested)
    return before if before == after else f"{before}---- unnested\n{after}"


def recorded_plans(path: Path) -> list[str]:
    """What was recorded of the statements of a file, in their order."""
    return path.with_suffix(".plan").read_text().split(_END)[:-1]


def record_plans(path: Path, texts: Iterable[str]) -> None:
    """Write what `recorded_plans` reads."""
    path.with_suffix(".plan").write_text("".join(text + _END for text in texts))
