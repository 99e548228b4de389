"""What a memory budget buys: late data, worked with the states that are chosen and with forced ones."""

from __future__ import annotations

import platform
import tempfile
from pathlib import Path
from typing import Final

import click

from benchmarks.diss_questions import (
    BEST,
    BYTES,
    CPU,
    DELTAS,
    EVERYTHING,
    GREEDY,
    LAST,
    MODEL,
    PREDICTED,
    QUERIES,
    RECOMPUTE,
    Bench,
)
from benchmarks.support.measure import Target, judge
from benchmarks.support.report import ROOT, header, table, verdict_line, write_json

SHARES: Final = (0.0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)
"""Budgets, as shares of what is taken where nothing limits it."""

FIGURES: Final = (CPU, LAST, BYTES, PREDICTED, MODEL)


def targets(cases: tuple[str, ...]) -> tuple[Target, ...]:
    """Never slower than any of the others by more than five in a hundred, and within the budget."""
    others = (RECOMPUTE, EVERYTHING, GREEDY)
    return tuple(Target(case, CPU, BEST, other, "at most", 1.05) for case in cases for other in others)


@click.command()
@click.option("--turns", default=3, show_default=True, help="How often everything is measured.")
@click.option("--scale", default=1.0, show_default=True, help="Scale factor of TPC-H.")
@click.option("--query", "only", multiple=True, type=click.Choice(QUERIES), help="Only this one.")
@click.option(
    "--budget", "shares", multiple=True, type=float, default=SHARES, show_default=True, help="A share of all."
)
@click.option(
    "--out",
    default=ROOT / "benchmarks" / "out",
    show_default="benchmarks/out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory for diss.json.",
)
def main(turns: int, scale: float, only: tuple[str, ...], shares: tuple[float, ...], out: Path) -> None:
    """Keep queries of TPC-H up to late data within eight budgets, by each way of choosing states."""
    top = header({"Python": platform.python_version(), "scale": str(scale), "turns": turns})
    click.echo(top.line())
    click.echo(f"late data: {', '.join(f'{100 * share:g} %' for share in DELTAS)} of each large table")
    with tempfile.TemporaryDirectory(prefix="gavial-diss-") as name:
        bench = Bench.filled(Path(name), scale)
        readings = [reading for query in only or QUERIES for reading in bench.readings(query, shares, turns)]
    verdicts = [judge(target, readings) for target in targets(tuple(dict.fromkeys(r.case for r in readings)))]
    click.echo(table(readings, FIGURES, RECOMPUTE))
    click.echo("\n".join(map(verdict_line, verdicts)))
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / "diss.json", top, readings, verdicts)


if __name__ == "__main__":
    main()
