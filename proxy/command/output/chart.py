"""The curve of a query as a picture, drawn by pygal: what is left for the trigger against all work."""

from __future__ import annotations

import sys
from typing import Final
from xml.etree.ElementTree import Element

import pygal
from pygal.style import Style

from planner.explain.schedule_text import figure
from proxy.command.output.curve import Curve

# pygal's finder of plug-ins, of which none is used here, lacks the method that Python asks of finders:
# each later import would warn of that.
sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, pygal.PluginImportFixer)]

_STYLE: Final = Style(
    background="white",
    plot_background="white",
    colors=("#1f77b4", "#d62728", "#2ca02c"),
    font_family="Helvetica, Arial, sans-serif",
    label_font_size=12,
    major_label_font_size=12,
    legend_font_size=13,
    title_font_size=16,
    guide_stroke_color="#cccccc",
    major_guide_stroke_color="#999999",
    opacity="1",
)


def svg_of_curve(name: str, curve: Curve) -> str:
    """The curve as SVG; a picture without scripts, which browsers and printers show alike."""
    totals = [100 * step.total_work for step in curve.steps]
    chart = pygal.XY(
        style=_STYLE,
        js=(),
        width=800,
        height=500,
        title=f"Work of {name}, in percent of one batch's",
        x_title="left for the trigger (final work), %",
        y_title="all runs (total work), %",
        range=(0, 1.05 * max(totals)),
        xrange=(0, 100 * max(step.final_work for step in curve.steps)),
        legend_at_bottom=True,
        value_formatter=_percent,
        x_value_formatter=_percent,
        truncate_legend=-1,
        no_prefix=True,
    )
    chart.add(
        "plans that the search went through",
        [
            {"value": (100 * step.final_work, 100 * step.total_work), "label": step.what}
            for step in curve.steps
        ],
    )
    if curve.goal is not None:
        goal = 100 * curve.goal
        chart.add(f"goal: {_percent(goal)}", [(goal, 0), (goal, max(totals))], show_dots=False)
    chosen = curve.chosen
    if chosen is not None:
        point = (100 * chosen.final_work, 100 * chosen.total_work)
        chart.add(
            "the plan that is used", [{"value": point, "label": chosen.what}], dots_size=7, stroke=False
        )
    chart.add_xml_filter(_without_scripts)
    svg: str = chart.render(is_unicode=True)
    return svg


def _without_scripts(root: Element) -> Element:
    for parent in list(root.iter()):
        for script in parent.findall("script"):
            parent.remove(script)
    return root


def _percent(value: float) -> str:
    return f"{figure(value)} %"
