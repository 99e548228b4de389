"""The picture of a benchmark: one panel per figure, its medians as bars, lowest to highest as whiskers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.support.measure import Reading, by_turn, spread

COLUMNS = 2


@dataclass(frozen=True, slots=True)
class Panel:
    """A figure to be drawn for some of the cases."""

    title: str
    figure: str
    cases: tuple[str, ...]


def draw(path: Path, title: str, footer: str, panels: Sequence[Panel], readings: Iterable[Reading]) -> None:
    """Write the panels for which there are readings as a PNG."""
    kept = tuple(readings)
    shown = [panel for panel in panels if any(reading.case in panel.cases for reading in kept)]
    rows = -(-len(shown) // COLUMNS)
    picture = Figure(figsize=(8 * COLUMNS, 4 * rows + 1), layout="constrained")
    picture.suptitle(title)
    picture.supxlabel(footer, fontsize=7, wrap=True)
    grid = picture.subplots(rows, COLUMNS, squeeze=False)
    colours = {way: f"C{place}" for place, way in enumerate(dict.fromkeys(r.way for r in kept))}
    for axes, panel in zip(grid.flat, shown, strict=False):
        _draw_panel(axes, panel, kept, colours)
    for axes in grid.flat[len(shown) :]:
        axes.set_axis_off()
    picture.savefig(path, dpi=100)


def _draw_panel(axes: Axes, panel: Panel, readings: Sequence[Reading], colours: Mapping[str, str]) -> None:
    """Groups of bars: one group per case, one bar per way that has the figure."""
    ways = [way for way in colours if any(by_turn(readings, case, way, panel.figure) for case in panel.cases)]
    axes.set_title(panel.title)
    if not ways:
        return
    width = 0.8 / len(ways)
    for place, way in enumerate(ways):
        bars = {
            group + place * width: measured
            for group, case in enumerate(panel.cases)
            if (measured := spread(by_turn(readings, case, way, panel.figure).values()))
        }
        axes.bar(
            list(bars),
            [measured.median for measured in bars.values()],
            width,
            yerr=(
                [measured.median - measured.lowest for measured in bars.values()],
                [measured.highest - measured.median for measured in bars.values()],
            ),
            capsize=2,
            color=colours[way],
            label=way,
        )
    axes.set_ylabel(panel.figure)
    axes.set_xticks([group + 0.4 - width / 2 for group in range(len(panel.cases))], panel.cases, fontsize=7)
    axes.legend(fontsize=7)
