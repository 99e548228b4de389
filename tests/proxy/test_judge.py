"""What a query must satisfy to be kept, without a server (G8)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from catalog.errors import Error
from catalog.postgres.description import Described
from catalog.postgres.schema import Column, TableName, View
from catalog.postgres.types import INT4, SqlType
from coordinator.planning.planning import Maintainable, bind_described, plan_bound
from coordinator.planning.statistics import statistics_of, statistics_to_json
from dialect.statements.places import places_in
from dialect.statements.statement import Query
from executors.engines import ENGINES
from executors.executor import Engine
from executors.settings import EngineSettings
from planner.cost.engines import EngineLimits
from planner.cost.weights import Weights
from planner.cost.work import FEATURES
from planner.delta.methods import methods_of
from planner.pace.schedule import Arrivals
from proxy.judging import judge as judging
from proxy.judging.explained import Explain
from proxy.judging.judge import Question, read_question
from proxy.judging.period_forecast import read_period_forecast
from proxy.wire.verdict import Verdict
from tests.support.binding.cases import read_snapshot

SNAPSHOT = read_snapshot()
ON_SPARK_ALONE: Final = (EngineLimits("Spark"),)
NAME = TableName("gavial_views", "public.q")
ENGINE: Final = ENGINES["spark"](EngineSettings(Path()))


def judge(question: Question, engine: Engine = ENGINE) -> Verdict:
    return judging.judge(question, SNAPSHOT.signatures, engine)


def question(text: str, expected: str | None = None, *, explain: Explain | None = None) -> Question:
    """As if the client had written the canonical text itself, behind ten characters."""
    view = View(NAME, text, (Column("whole", SqlType(INT4)),))
    tables = {name: SNAPSHOT.tables[name] for name in (TableName("bound", "things"),)}
    places = places_in(text, Query(text, 10).position) | {"option": {"EXPECT": 3}}
    options = {} if expected is None else {"EXPECT": expected}
    described = Described(view, {NAME: view}, tables, [], {}, True)
    return Question(2, "150000", described, places, options, explain)


def refusal(asked: Question) -> tuple[str, str, int | None]:
    with pytest.raises(Error) as caught:
        judge(asked)
    return caught.value.sqlstate, caught.value.message, caught.value.position


FINE = "SELECT things.whole FROM bound.things"


def test_what_is_bound_is_kept() -> None:
    assert judge(question(FINE)) == Verdict()
    verbose = Explain("TEXT", frozenset({"VERBOSE"}))
    assert "bound.things" in judge(question(FINE, explain=verbose)).explanation


def test_a_piece_is_refused_at_its_place() -> None:
    text = f"{FINE} GROUP BY ROLLUP (things.whole)"
    said = "cannot maintain a query with ROLLUP"
    assert refusal(question(text)) == ("0A000", said, 10 + text.index("ROLLUP"))


@pytest.mark.parametrize(
    ("text", "piece", "place"),
    [
        (
            "SELECT lag(things.whole) OVER (ORDER BY things.id) AS whole",
            "a window function",
            "lag",
        ),
        (
            "SELECT things.ints[1] AS whole",
            "an element of an array by its index",
            "things.ints",
        ),
        ("SELECT cardinality(ARRAY(SELECT 1)) AS whole", "ARRAY of a subquery", "ARRAY"),
    ],
)
def test_a_piece_that_no_plan_has_is_refused_at_its_place(text: str, piece: str, place: str) -> None:
    found = refusal(question(f"{text} FROM bound.things"))
    assert found == ("0A000", f"cannot maintain a query with {piece}", 10 + text.index(place))


@pytest.mark.parametrize(
    "expected", ["things 10", "bound.things 10", '"things" 1, bound."things" 2', "THINGS 0"]
)
def test_expected_tables_are_read(expected: str) -> None:
    assert judge(question(FINE, expected)) == Verdict()


@pytest.mark.parametrize(
    "expected", ["others 10", "tpch.things 10", '"Things" 10', "things 1, nothing 2", "things: 10"]
)
def test_expected_tables_that_are_not_read(expected: str) -> None:
    sqlstate, message, position = refusal(question(FINE, expected))
    assert (sqlstate, position) == ("22023", 3)
    assert message.endswith("which the query does not read")


@pytest.mark.parametrize("text", ["", "xyz", "e30=", "bnVsbA==", "W10=", "\u00e9"])
def test_what_is_no_question(text: str) -> None:
    assert read_question(text) is None


def asked(*options: str, format: str = "TEXT", **given: object) -> Question:
    """With figures of the table, of which a thousand rows are there and a million come."""
    [table] = question(FINE).described.tables.values()
    described = {"schema": "bound", "name": "things", "oid": table.oid, "rows": 1000.0, "columns": []}
    figures = {
        "expected": {str(table.oid): 1e6},
        "arrivals": {"hours": [], "fired": [], "since": None, "now": 0.0},
        "zone": "UTC",
        "corrections": {},
        "own_weights": {},
        "recompute_work": None,
        "measured": {"subplans": {}, "from_scratch": None},
        "engines": [{"engine": "Spark", "weights": {"jobs": 0.1}, "most_changed": None, "most_read": None}],
    }
    explain = Explain(format, frozenset({"COSTS", *options}))
    return replace(question(FINE, explain=explain), statistics=[described], figures=figures, options=given)


def test_a_curve_needs_no_goal() -> None:
    shown = judge(asked("CURVE")).explanation.splitlines()
    assert shown[:2] == [
        "  Expected until the trigger:",
        "    bound.things: 1000000 rows, as the coordinator expects",
    ]
    schedule = shown.index("  Schedule:")
    assert shown[schedule + 1].startswith("    Final work: 1 of the batch's, goal 1, at best 0.")
    curve = shown[shown.index("  Curve:") + 1 :]
    assert len(curve) > 3
    assert curve[0] == "    final 1, total 1: one run (used)"


@pytest.mark.parametrize(
    ("expected", "stated", "says"),
    [
        (None, "things 5", "bound.things: 5 rows, as EXPECT says"),
        (4.0, "things 5", "bound.things: 5 rows, as EXPECT says"),
        (8.0, "things 5", "bound.things: 8 rows, as more arrived than EXPECT says"),
        (1.0, None, "bound.things: 1 row, as the coordinator expects"),
    ],
)
def test_it_is_said_what_is_expected_and_how_that_is_known(
    expected: float | None, stated: str | None, says: str
) -> None:
    asking = asked("CURVE", **({} if stated is None else {"EXPECT": stated}))
    assert asking.figures is not None
    [oid] = asking.figures["expected"]
    figures = {**asking.figures, "expected": {} if expected is None else {oid: expected}}
    shown = judge(replace(asking, figures=figures)).explanation.splitlines()
    assert shown[:2] == ["  Expected until the trigger:", f"    {says}"]


def test_a_goal_is_met_by_no_more_than_it_takes() -> None:
    shown = judge(asked("CURVE", FINAL_WORK=0.5, MAX_PACE=20)).explanation
    assert "bound.things at pace 3" in shown
    values = json.loads(judge(asked(format="JSON", FINAL_WORK="0.5")).explanation)
    assert values["goal"] == 0.5
    assert values["subplans"][0]["paths"][0]["pace"] == 3


def test_forced_paces_are_said_to_be() -> None:
    forced = asked("CURVE", FINAL_WORK="0.5", PACES="uniform")
    shown = judge(forced).explanation.splitlines()
    assert "    Paces: forced to one for the whole query" in shown
    assert shown[shown.index("  Curve:") + 2].endswith(": pace 2 of all")
    values = json.loads(judge(asked(format="JSON", PACES="leaf")).explanation)
    assert (values["paces"], values["subplans"][0]["method"]) == ("leaf", "linear")


def test_costs_are_left_out_where_they_are_switched_off() -> None:
    def shown(format: str) -> str:
        with_costs = asked(format=format, FINAL_WORK="0.5")
        without = replace(with_costs, explain=Explain(format, frozenset()))
        return judge(without).explanation

    assert shown("TEXT") == (
        "  Schedule:\n    result 1: 3 runs\n      bound.things at pace 3: the goal is met\n"
        "  Steps:\n    result 1:\n      1. result: changes of bound.things"
    )
    path = {"reads": "bound.things", "pace": 3, "reason": "the goal is met"}
    assert json.loads(shown("JSON")) == {
        "paces": "auto",
        "goal": 0.5,
        "max_cost": 3.0,
        "subplans": [{"subplan": "result 1", "method": "linear", "runs": 3, "paths": [path]}],
        "steps": {"result 1": ["1. result: changes of bound.things"]},
    }
    assert "at the trigger" not in shown("DOT")


def test_methods_are_told_where_one_is_forced() -> None:
    text = "SELECT max(things.whole) AS whole FROM bound.things"
    explained = question(text, explain=Explain("TEXT", frozenset()))
    forced = replace(explained, options={"METHOD": "recompute"})
    shown = judge(forced).explanation
    assert shown.startswith("  Methods:\n    aggregate 1: recompute\n    result 2: linear\n  Steps:\n")
    assert judge(explained).explanation.startswith("  Steps:\n")


def test_without_a_goal_and_without_arrivals_engines_and_steps_are_shown() -> None:
    """As they are for computing everything from the rows that are there."""
    asking = asked()
    assert asking.figures is not None
    unknown = replace(asking, figures={**asking.figures, "expected": {}})
    quick = {"engine": "DuckDB", "weights": {"jobs": 0.001}, "most_changed": 1e6, "most_read": 1e6}
    figures = {**asking.figures, "expected": {}, "engines": [*asking.figures["engines"], quick]}
    both = ENGINES["auto"](EngineSettings(Path()))
    title, engine, *steps = judge(replace(unknown, figures=figures), both).explanation.splitlines()
    assert title == "  From scratch:"
    assert re.fullmatch(r"    result 1: by DuckDB: [\d.e-]+ s beside [\d.e-]+ s on Spark", engine)
    assert steps == ["  Steps:", "    result 1:", "      1. result: changes of bound.things"]
    assert re.fullmatch(r"    result 1: by Spark: [\d.]+ s", judge(unknown).explanation.splitlines()[1])
    values = json.loads(judge(replace(unknown, explain=Explain("JSON", frozenset({"COSTS"})))).explanation)
    assert [part["engine"] for part in values["from_scratch"]] == ["Spark"]
    hidden = judge(replace(unknown, explain=Explain("TEXT", frozenset()))).explanation
    assert hidden.splitlines() == steps
    wished = replace(unknown, options={"FINAL_WORK": "0.5"})
    assert "how many rows will have arrived by then is not known" in judge(wished).explanation


def test_without_a_goal_but_with_arrivals_the_schedule_is_shown() -> None:
    shown = judge(asked()).explanation.splitlines()
    assert "    result 1: 1 run" in [line.split(",")[0] for line in shown]
    assert shown[-3:] == ["  Steps:", "    result 1:", "      1. result: changes of bound.things"]


@pytest.mark.parametrize(("plan", "more"), [("own", True), ("another", False), (None, False)])
@pytest.mark.parametrize("what", ["rows", "costs"])
def test_what_was_learned_is_of_a_plan(plan: str | None, more: bool, what: str) -> None:
    """It writes ten times as many rows as the model says, or takes ten times as long: that is more work."""
    text = "SELECT max(x.whole) AS whole FROM (SELECT DISTINCT whole FROM bound.things) x"
    plain = replace(asked(format="JSON", METHOD="linear"), described=question(text).described)
    assert plain.figures is not None
    statistics = statistics_of(plain.statistics)
    bound = bind_described(plain.described, SNAPSHOT.signatures)
    planned = plan_bound(ENGINE, bound, statistics, methods_of({}))
    of_parts = {
        "rows": ("corrections", 10.0),
        "costs": ("own_weights", {"Spark": {name: 10.0 * getattr(Weights(), name) for name in FEATURES}}),
    }
    key, value = of_parts[what]
    kept = {"statistics": statistics_to_json(statistics), "paces": {}, "status": "active"}
    fingerprint = planned.fingerprint if plan == "own" else plan
    learned: dict[str, Any] = {
        key: {str(subplan.writes): value for subplan in planned.planned.delta.subplans},
    }
    corrected = replace(
        plain,
        figures={**plain.figures, **learned},
        plan=None if fingerprint is None else {**kept, "fingerprint": fingerprint},
    )
    before, after = (json.loads(judge(asked).explanation)["total_work"] for asked in (plain, corrected))
    assert (after > before) == more


def test_kinds_of_changes_are_those_that_came() -> None:
    """Of a million changed rows half a million are updates, if only updates came."""
    figures, sizes = asked().figures, asked().statistics
    assert figures is not None
    [(name, coming)] = read_period_forecast(figures, sizes, {}, ON_SPARK_ALONE).arrivals.items()
    assert coming == Arrivals(1e6)
    changed = {"relation": sizes[0]["oid"], "rows": 20, "updates": 10, "deletes": 0}
    hours = [{**changed, "hour": hour} for hour in (0.0, 3600.0)]
    updated = {**figures, "arrivals": {**figures["arrivals"], "hours": hours, "since": 0.0}}
    assert read_period_forecast(updated, sizes, {}, ON_SPARK_ALONE).arrivals == {name: Arrivals(0, 5e5, 0)}
    said = {"EXPECT": "things 300"}
    assert read_period_forecast(updated, sizes, said, ON_SPARK_ALONE).arrivals == {
        name: Arrivals(0, 5e5, 0)
    }, "it was outgrown"
    assert read_period_forecast(updated | {"expected": {}}, sizes, said, ON_SPARK_ALONE).arrivals == {
        name: Arrivals(0, 300, 0)
    }


ON_DUCKDB: Final[Mapping[str, object]] = {
    "engine": "DuckDB",
    "weights": {},
    "most_changed": 2e6,
    "most_read": 2e7,
}
ON_SPARK: Final[Mapping[str, object]] = {
    "engine": "Spark",
    "weights": {},
    "most_changed": None,
    "most_read": None,
}


@pytest.mark.parametrize(
    ("engine", "known", "shown"),
    [
        ("spark", [], False),
        ("spark", [ON_DUCKDB, ON_SPARK], False),
        ("auto", [], True),
        ("auto", [ON_DUCKDB, ON_SPARK], True),
        ("auto", [ON_SPARK], False),
    ],
)
def test_the_engines_are_those_of_the_operator(engine: str, known: Sequence[object], *, shown: bool) -> None:
    """What an earlier coordinator told of engines is no reason to name one that is not used any more."""
    plain = asked("CURVE", FINAL_WORK=0.5)
    assert plain.figures is not None
    few = {**plain.figures, "engines": known, "expected": dict.fromkeys(plain.figures["expected"], 100.0)}
    explained = judge(replace(plain, figures=few), ENGINES[engine](EngineSettings(Path()))).explanation
    assert ("DuckDB" in explained) == shown


def test_a_goal_that_cannot_be_met_is_warned_of() -> None:
    hopeless = replace(asked(FINAL_WORK=0.0001), explain=None)
    warning = judge(hopeless).warning
    assert warning.startswith("the goal cannot be met within MAX_COST = 3: 0.")
    modest = replace(asked(FINAL_WORK=0.5), explain=None)
    assert judge(modest) == Verdict()


def kept(plan: Maintainable, paces: Mapping[str, object]) -> Mapping[str, object]:
    described = asked().statistics
    return {
        "fingerprint": plan.fingerprint,
        "statistics": statistics_to_json(statistics_of(described)),
        "paces": paces,
        "status": "active",
    }


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ("error", "the query was computed by it, and its status is error"),
        ("suspended", "the query was computed by it, and its status is suspended"),
        ("initialising", "the next result is computed by it"),
    ],
)
def test_a_plan_is_not_said_to_run_where_its_query_does_not(status: str, told: str) -> None:
    plain = asked("CURVE")
    bound = bind_described(plain.described, SNAPSHOT.signatures)
    plan = plan_bound(ENGINE, bound, statistics_of(plain.statistics), methods_of({}))
    stopped = {**kept(plan, {}), "status": status}
    shown = judge(replace(plain, plan=stopped)).explanation
    assert f"{plan.fingerprint}: {told}\n" in shown


@pytest.mark.parametrize(
    ("worth", "told"),
    [(None, ""), (2.5, ", incrementability 2.5"), ("Infinity", ", incrementability infinite")],
)
def test_what_runs_is_shown_with_the_paces_that_are_kept(worth: object, told: str) -> None:
    plain = asked("CURVE", FINAL_WORK=0.5)
    bound = bind_described(plain.described, SNAPSHOT.signatures)
    plan = plan_bound(ENGINE, bound, statistics_of(plain.statistics), methods_of({}))
    running = replace(
        plain, plan=kept(plan, {"0": {"pace": 7, "incrementability": worth, "reason": "it was chosen then"}})
    )
    shown = judge(running).explanation
    assert f"{plan.fingerprint}: the query is computed by it" in shown
    assert f"bound.things at pace 7{told}: it was chosen then" in shown
    text = judge(replace(running, explain=Explain("JSON", frozenset()))).explanation
    values = json.loads(text, parse_constant=pytest.fail)
    assert values["plan"] == plan.fingerprint
    assert values["subplans"][0]["runs"] == 7


def test_another_plan_than_the_one_that_runs_is_said_to_be_new() -> None:
    plain = asked("CURVE", FINAL_WORK=0.5)
    bound = bind_described(plain.described, SNAPSHOT.signatures)
    plan = plan_bound(ENGINE, bound, statistics_of(plain.statistics), methods_of({}))
    other = {
        **kept(plan, {"0": {"pace": 7, "incrementability": None, "reason": "it was chosen then"}}),
        "fingerprint": "of a plan that nobody makes",
    }
    shown = judge(replace(plain, plan=other)).explanation
    assert f"{plan.fingerprint}: the next result is computed by it from scratch" in shown
    assert "bound.things at pace 7" not in shown
