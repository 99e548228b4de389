"""What paces save: the final work of a period, and what is paid for it, under several ways to choose them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import click

from benchmarks.chart import Panel, draw
from benchmarks.inqp_queries import PARTLY, extra_queries
from benchmarks.measure import Figures, Reading, Target, judge
from benchmarks.replay import Measured, replay
from benchmarks.report import ROOT, header, table, verdict_line, write_json
from benchmarks.tpch_log import progressive
from benchmarks.tpch_warehouse import Laboratory, queries
from executors.spark.session import SparkSettings, close_session, open_session
from planner.cost import Weights
from planner.pace import scheduled, simulated
from planner.pace_knobs import path_knobs, table_knobs, whole_knob
from planner.paths import Paces
from planner.plan import Planned, plan
from planner.schedule import Arrivals, Goal, Schedule
from planner.simulation import Simulation

STEPS: Final = 100
GAVIAL, UNIFORM, LEAF, BATCH = "Gavial", "IncObv", "Leaf", "one batch"
EXTRA, LATENCY, SHARE, FIRINGS = "extra CPU s", "final s", "final/batch CPU", "firings"
GOALS: Final = (0.5, 0.2, 0.1, 0.05, 0.02)
ALL: Final = 0.05
"""The goal of the queries that are incremental throughout."""


@click.command()
@click.option("--scale", default=1.0, show_default=True, help="Scale factor of TPC-H.")
@click.option("--queries", "only", default="", help="Some of them, with commas between; default: all.")
@click.option("--goals", default="", help="Some goals, with commas between; default: those of each query.")
@click.option("--turns", default=3, show_default=True, help="How often everything is measured.")
@click.option("--seconds-per-job", default=Weights().jobs, show_default=True, help="What a job costs here.")
@click.option(
    "--out",
    default=ROOT / "benchmarks" / "out",
    show_default="benchmarks/out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory for inqp.json and inqp.png.",
)
def main(scale: float, only: str, goals: str, turns: int, seconds_per_job: float, out: Path) -> None:
    """Replay a period of TPC-H, all tables coming in a hundred steps, under the paces of each way."""
    top = header({"scale": str(scale), "turns": turns, "steps": STEPS, "only": only or "all"})
    click.echo(top.line())
    directory = Path(tempfile.mkdtemp(prefix="gavial-inqp-"))
    readings: list[Reading] = []
    try:
        laboratory = progressive(directory, scale, STEPS)
        session = open_session(SparkSettings(directory / "spark", "local[2]"))
        try:
            for name, planned in _planned(laboratory, only).items():
                weights = Weights(jobs=seconds_per_job)
                played = _simulated(laboratory, planned, weights)
                chosen = [float(each) for each in goals.split(",") if each] or _goals_of(name)

                def measure(paces: Paces, planned: Planned = planned) -> Measured:
                    return replay(session, laboratory, planned, paces, STEPS)

                for turn in range(turns):
                    readings += _turn(name, played, chosen, turn, measure)
        finally:
            close_session(session)
    finally:
        shutil.rmtree(directory)
    cases = tuple(dict.fromkeys(each.case for each in readings))
    verdicts = [judge(each, readings) for each in _targets(cases)]
    click.echo(table(readings, (EXTRA, LATENCY, SHARE, FIRINGS), UNIFORM))
    click.echo("\n".join(map(verdict_line, verdicts)))
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / "inqp.json", top, readings, verdicts)
    panels = [Panel(title, figure, cases) for title, figure in _TITLES.items()]
    draw(out / "inqp.png", "Goals kept, and what they cost", top.line(), panels, readings)


_TITLES: Final = {EXTRA: "Work beyond one batch", LATENCY: "The last firing", SHARE: "Final work kept"}


def _planned(laboratory: Laboratory, only: str) -> dict[str, Planned]:
    bound = queries(laboratory) | extra_queries(laboratory)
    names = only.split(",") if only else list(bound)
    return {each: plan(bound[each], laboratory.tables, laboratory.statistics) for each in names}


def _goals_of(name: str) -> Sequence[float]:
    return GOALS if name in PARTLY else (ALL,)


def _simulated(laboratory: Laboratory, planned: Planned, weights: Weights) -> Simulation:
    arrivals = {each: Arrivals(float(laboratory.rows(each.name))) for each in laboratory.oids}
    return simulated(planned.delta, laboratory.statistics, arrivals, weights)


def _turn(
    name: str,
    played: Simulation,
    goals: Sequence[float],
    turn: int,
    measure: Callable[[Paces], Measured],
) -> list[Reading]:
    """One batch, then every way at every goal; paces that were measured in this turn are not again."""
    known: dict[tuple[tuple[object, int], ...], Measured] = {}

    def once(paces: Paces) -> Measured:
        key = tuple(sorted(paces.items()))
        if key not in known:
            known[key] = measure(paces)
        return known[key]

    at_once = dict.fromkeys(played.paths, 1)
    if turn == 0:
        measure(at_once)  # for nothing: Java compiles what all others run
    batch = once(at_once)
    readings = [Reading(name, BATCH, turn, _figures(batch, batch))]
    for goal in goals:
        for way, schedule in _schedules(played, goal).items():
            if schedule.final_work > goal * schedule.batch_work * (1 + 1e-9):
                click.echo(f"{name} {goal} {way}: not reachable, {schedule.reachable:.3f} at best")
                continue
            measured = once({each.path: each.pace for each in schedule.paths})
            figures = {**_figures(measured, batch), "met": float(_share(measured, batch) <= goal)}
            readings.append(Reading(f"{name} {goal:g}", way, turn, figures))
            click.echo(f"{name} {goal:g} {way} {_paces(schedule)} {_words(figures)}")
    return readings


def _schedules(played: Simulation, goal: float) -> Mapping[str, Schedule]:
    aim = Goal(goal, STEPS)
    knobs = {
        UNIFORM: whole_knob(played.paths),
        LEAF: table_knobs(played.paths, played.idle),
        GAVIAL: path_knobs(played.paths, played.idle),
    }
    return {way: scheduled(played, aim, each) for way, each in knobs.items()}


def _figures(measured: Measured, batch: Measured) -> Figures:
    return {
        EXTRA: measured.total_cpu - batch.total_cpu,
        LATENCY: measured.final_seconds,
        SHARE: _share(measured, batch),
        FIRINGS: float(measured.firings),
        "rows out": float(measured.rows_out),
    }


def _share(measured: Measured, batch: Measured) -> float:
    return measured.final_cpu / batch.final_cpu


def _paces(schedule: Schedule) -> str:
    return ",".join(str(each.pace) for each in schedule.paths)


def _words(figures: Figures) -> str:
    return ", ".join(f"{name} {value:.3g}" for name, value in figures.items())


def _targets(cases: Sequence[str]) -> list[Target]:
    """Of the extra work of one pace for all, half at most; and each goal kept."""
    paced = [each for each in cases if " " in each]
    extra = [
        Target(each, EXTRA, GAVIAL, UNIFORM, "at most", 0.5) for each in paced if each.split()[0] in PARTLY
    ]
    return extra + [Target(each, "met", GAVIAL, None, "at least", 0.9) for each in paced]


if __name__ == "__main__":
    main()
