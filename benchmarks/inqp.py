"""What paces save: the final work of a period, and what is paid for it, under several ways to choose them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import click

from benchmarks.periods.bias import bias_readings
from benchmarks.periods.bursts import burst_readings
from benchmarks.periods.goals import (
    BELIEVED,
    EXTRA,
    FIRINGS,
    GAVIAL,
    LATENCY,
    MET,
    SHARE,
    UNIFORM,
    goal_readings,
)
from benchmarks.periods.learning import Learner, learner
from benchmarks.periods.queries import ALL, GOALS, PARTLY, STEPS, extra_queries
from benchmarks.periods.summary import summary
from benchmarks.support.chart import Panel, draw
from benchmarks.support.measure import Reading, Target, judge
from benchmarks.support.report import ROOT, Header, header, table, verdict_line, write_json
from benchmarks.support.tpch_log import progressive
from benchmarks.support.tpch_warehouse import Laboratory, queries
from catalog.queries.measured import Measured as Seen
from executors.engines import ENGINES
from executors.executor import Engine, Executor
from executors.settings import EngineSettings
from planner.plan import plan

HARD: Final[Mapping[str, Sequence[str]]] = {
    "goals": (*PARTLY, *(f"q{number:02d}" for number in range(1, 23) if f"q{number:02d}" not in PARTLY)),
    "bias": ("q02", "q17"),
    "bursts": ("q17",),
}
"""The queries of each question."""

LEARNT: Final = (1, 1, 4)
"""The paces of the periods from which each query is known; the first one finds Java cold."""


@click.command()
@click.option("--scale", default=2.0, show_default=True, help="Scale factor of TPC-H.")
@click.option("--only", type=click.Choice(list(HARD)), default="goals", show_default=True)
@click.option(
    "--queries",
    "names",
    default="",
    help="Some, with commas between; default: those of the question.",
)
@click.option("--goals", default="", help="Some goals, with commas between; default: those of each query.")
@click.option(
    "--engine", type=click.Choice(["auto", "spark"]), default="auto", show_default=True, help="Which engines."
)
@click.option("--turns", default=3, show_default=True, help="How often everything is measured.")
@click.option("--longest", default=1e9, help="Leave out what is expected to take more processor seconds.")
@click.option(
    "--out",
    default=ROOT / "benchmarks" / "out",
    show_default="benchmarks/out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory for inqp-goals.json, inqp-goals.png and so on.",
)
def main(
    scale: float, only: str, names: str, goals: str, engine: str, turns: int, longest: float, out: Path
) -> None:
    """Replay periods of TPC-H, all tables coming in a hundred steps, under the paces of each way."""
    settings: dict[str, str | int] = {
        "scale": str(scale),
        "engine": engine,
        "turns": turns,
        "steps": STEPS,
        "longest": str(longest),
    }
    top = header({"question": only, "queries": names or "all", **settings})
    click.echo(top.line())
    stated = [float(goal) for goal in goals.split(",") if goal]
    directory = Path(tempfile.mkdtemp(prefix="gavial-inqp-"))
    readings: list[Reading] = []
    try:
        laboratory = progressive(directory, scale, STEPS)
        chosen = ENGINES[engine](EngineSettings(directory / "spark", "local[2]"))
        executor = chosen.start(lambda: True)
        try:
            for query in _taught(chosen, executor, laboratory, names.split(",") if names else HARD[only]):
                readings += _readings(only, query, stated, turns, longest)
                _report(readings, only, top, out)
        finally:
            executor.close()
    finally:
        shutil.rmtree(directory)


def _taught(
    engine: Engine, executor: Executor, laboratory: Laboratory, names: Sequence[str]
) -> Sequence[Learner]:
    """The queries, each known from its earlier periods, and the engines here from those of all."""
    bound, firings = queries(laboratory) | extra_queries(laboratory), list[Seen]()
    found = [
        learner(
            engine,
            executor,
            laboratory,
            name,
            plan(bound[name], laboratory.tables, laboratory.statistics),
            firings,
        )
        for name in names
    ]
    for pace in LEARNT:
        for query in found:
            seconds = query.replay((pace,) * len(query.paths)).total_cpu
            click.echo(f"{query.name}: a period of pace {pace} to learn from, {seconds:.0f} s of a processor")
    return found


def _readings(
    only: str, of: Learner, goals: Sequence[float], turns: int, longest: float
) -> Iterator[Reading]:
    """Of a query, for one of the questions."""
    match only:
        case "goals":
            yield from goal_readings(of, goals or (GOALS if of.name in PARTLY else (ALL,)), turns, longest)
        case "bias":
            for goal in goals or (0.5,):
                yield from bias_readings(of, goal, turns, longest)
        case _:
            for goal in goals or (0.5,):
                yield from burst_readings(of, goal, turns, longest)


def _report(readings: Sequence[Reading], only: str, top: Header, out: Path) -> None:
    """What has been measured so far."""
    cases = tuple(dict.fromkeys(reading.case for reading in readings))
    verdicts = [judge(target, readings) for target in _targets(cases)]
    click.echo(table(readings, (EXTRA, LATENCY, SHARE, BELIEVED, FIRINGS), UNIFORM))
    click.echo("\n".join((*map(verdict_line, verdicts), *summary(readings))))
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / f"inqp-{only}.json", top, readings, verdicts)
    panels = [Panel(title, figure, cases) for title, figure in _TITLES.items()]
    draw(out / f"inqp-{only}.png", "Goals kept, and what they cost", top.line(), panels, readings)


def _targets(cases: Sequence[str]) -> list[Target]:
    """No more extra work than one pace for all; and each goal kept."""
    paced = [case for case in cases if " " in case]
    extra = [
        Target(case, EXTRA, GAVIAL, UNIFORM, "at most", 1.0) for case in paced if case.split()[0] in PARTLY
    ]
    return extra + [Target(case, MET, GAVIAL, None, "at least", 0.9) for case in paced]


_TITLES: Final = {EXTRA: "Work beyond one batch", LATENCY: "The last firing", SHARE: "Final work kept"}


if __name__ == "__main__":
    main()
