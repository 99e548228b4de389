from __future__ import annotations

import sys
from typing import Any
from xml.etree import ElementTree

import pytest

from proxy.command.output.chart import svg_of_curve
from proxy.command.output.curve import Curve, curve_of, curve_table
from proxy.command.output.graph import svg_of_dot
from proxy.command.output.table import table_text

CURVE = [
    {"final_work": 1.0, "total_work": 1.0, "pace": 1, "raised": []},
    {"final_work": 0.6, "total_work": 1.2, "pace": 2, "raised": ["public.t to join 1", "join 1 to answer 2"]},
    {"final_work": 0.3, "total_work": 2.0, "pace": 4, "raised": ["public.t to join 1"]},
]


def schedule(goal: object, final: float, total: float, batch: float = 1.0) -> dict[str, Any]:
    return {"curve": CURVE, "goal": goal, "final_work": final, "total_work": total, "batch_work": batch}


def lines(curve: Curve) -> list[str]:
    return [
        " ".join(line.replace("|", " ").split()) for line in table_text(curve_table(curve)).splitlines()[2:]
    ]


def test_the_goal_stands_between_what_misses_and_what_meets_it() -> None:
    curve = curve_of(schedule(0.5, 0.6, 4.4, batch=2.0))
    assert curve.goal == 0.5
    shown = lines(curve)
    assert [line.partition(" %")[0] for line in shown] == ["100", "60", "50", "30", "30"]
    assert "— the goal —" in shown[2]


def test_the_plan_that_is_used_is_marked_in_its_line() -> None:
    curve = curve_of(schedule(0.5, 0.6, 4.4, batch=2.0))
    assert curve.chosen is not None
    assert lines(curve)[4].endswith("the paces that are kept ← used")
    curve = curve_of(schedule(0.5, 0.602, 1.203))
    assert curve.chosen == curve.steps[1]
    assert lines(curve)[1].endswith("pace 2 of public.t to join 1, join 1 to answer 2 ← used")
    assert not any("kept" in line for line in lines(curve))


def test_a_goal_that_no_plan_meets_is_last() -> None:
    assert "the goal, which no plan meets" in lines(curve_of(schedule(0.01, 1.0, 1.0)))[-1]


@pytest.mark.parametrize("goal", [1, "5.0 s"])
def test_what_is_no_share_is_no_goal_on_the_curve(goal: object) -> None:
    curve = curve_of(schedule(goal, 1.0, 1.0))
    assert curve.goal is None
    assert len(lines(curve)) == len(CURVE)


def test_without_work_nothing_is_used() -> None:
    assert curve_of(schedule(0.5, 0.0, 0.0, batch=0.0)).chosen is None


@pytest.mark.parametrize("goal", [0.5, 1])
def test_the_picture_is_svg_with_all_points_and_no_script(goal: float) -> None:
    svg = svg_of_curve("a & b", curve_of(schedule(goal, 0.6, 1.2)))
    root = ElementTree.fromstring(svg)
    assert root.tag.endswith("svg")
    assert "<script" not in svg and "e+" not in svg
    assert "a &amp; b" in svg
    assert svg.count("<circle") >= len(CURVE)
    assert ("goal: 50 %" in svg) == (goal == 0.5)


def test_a_graph_is_drawn(capfd: pytest.CaptureFixture[str]) -> None:
    svg = svg_of_dot('digraph { 0 [label = "public.\\"t\\" & more\\n0.1 s"]; 1 [label = "ü"]; 0 -> 1; }')
    root = ElementTree.fromstring(svg)
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == ['public."t" & more', "0.1 s", "ü"]
    assert capfd.readouterr().err == ""


def test_the_library_of_charts_leaves_imports_as_they_were() -> None:
    assert [finder for finder in sys.meta_path if not hasattr(finder, "find_spec")] == []
