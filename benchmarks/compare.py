"""What a benchmark says of two checkouts, in turns: this one, and one from before a change."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median

import click

from benchmarks.support.measure import Spread, spread
from benchmarks.support.report import ROOT, header

_ON_THE_PROCESSOR = (
    "import runpy, sys, time; time.perf_counter = time.process_time; "
    "sys.argv[:] = sys.argv[1:]; runpy.run_module(sys.argv[0], run_name='__main__')"
)

Key = tuple[str, str, str]


@click.command(context_settings={"allow_interspersed_args": False})
@click.option(
    "--before",
    required=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False, resolve_path=True),
    help="The other checkout, with a .venv of its own.",
)
@click.option("--turns", default=9, show_default=True, help="How often the two take turns.")
@click.option("--processor-time", is_flag=True, help="Measure the program's processor time.")
@click.argument("program")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def main(before: Path, turns: int, processor_time: bool, program: str, arguments: tuple[str, ...]) -> None:
    """Run PROGRAM with ARGUMENTS in both checkouts, turn by turn, and show each figure's ratio, now / before.

    Figures that only one of the two has are left out.
    """
    click.echo(header({"turns": turns}).line())
    ratios: dict[Key, list[float]] = defaultdict(list)
    for turn in range(turns):
        # The one that begins alternates: what warms up the machine is no gain of the other.
        order = (before, ROOT) if turn % 2 == 0 else (ROOT, before)
        figures = {root: measured(root, program, arguments, processor_time) for root in order}
        for key, value in figures[ROOT].items():
            if figures[before].get(key, 0) > 0:
                ratios[key].append(value / figures[before][key])
    for (case, way, figure), values in ratios.items():
        shown = spread(values)
        assert isinstance(shown, Spread), "a figure that was measured has a spread"
        click.echo(
            f"{case:<28}{way:<24}{figure:<28}{shown.median:.3f} ({shown.lowest:.3f}..{shown.highest:.3f})"
        )


def measured(root: Path, program: str, arguments: tuple[str, ...], processor_time: bool) -> dict[Key, float]:
    """The figures of one run of the program in a checkout."""
    python = root / ".venv" / "bin" / "python"
    module = f"benchmarks.{program}"
    start = ("-c", _ON_THE_PROCESSOR, module) if processor_time else ("-m", module)
    out = root / "benchmarks" / "out" / "compared"
    done = subprocess.run(
        [python, *start, *arguments, "--out", out], cwd=root, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{module} failed in {root}:\n{done.stdout}{done.stderr}")
    readings = json.loads((out / f"{program}.json").read_text())["readings"]
    values: dict[Key, list[float]] = defaultdict(list)
    for reading in readings:
        for figure, value in reading["figures"].items():
            values[reading["case"], reading["way"], figure].append(value)
    return {key: median(kept) for key, kept in values.items()}


if __name__ == "__main__":
    main()
