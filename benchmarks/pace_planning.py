"""How long it takes to choose paces for each query of TPC-H, and what they cost beside the best there are."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from math import isinf
from pathlib import Path
from statistics import median, quantiles

import click

from benchmarks.pace_ways import exhaustive, sampled
from benchmarks.support.chart import Panel, draw
from benchmarks.support.measure import Figures, Target, judge, take_turns
from benchmarks.support.report import ROOT, header, table, verdict_line, write_json
from planner.cost.engines import Costs
from planner.delta.weighted import DeltaPlan
from planner.pace.choose import scheduled, simulated
from planner.pace.knobs import path_knobs
from planner.pace.schedule import Goal
from planner.pace.simulation import Simulation
from planner.plan import plan
from tests.support.binding.cases import read_snapshot, recorded
from tests.support.planning.cases import QUERIES, bound
from tests.support.planning.tpch_statistics import BOTH, FAST, arrivals, statistics

MEDIAN, EIGHTIETH, WORST = "median ms", "80 % ms", "worst ms"
MEAN_RATIO, WORST_RATIO, MISSED = "mean ratio", "worst ratio", "missed"
PLANNING, COST = "planning, pace 100, goal 0.01", "plan cost"
GREEDY, SAMPLED = "greedy", "sampled"
TARGETS = (
    Target(PLANNING, WORST, GREEDY, None, "at most", 200.0),
    Target(COST, WORST_RATIO, GREEDY, None, "at most", 1.02),
)
SHARES = (0.5, 1.0)
"""Parts of all rows that come in the simulation; the others are there before."""


@dataclass(frozen=True)
class Case:
    """A query small enough to try all paces of, with a goal that some meet."""

    plan: DeltaPlan
    share: float
    goal: float
    most: int
    best: float


@click.command()
@click.option("--turns", default=5, show_default=True, help="How often everything is measured.")
@click.option("--tries", default=4000, show_default=True, help="How many paces an exhaustive search may try.")
@click.option("--seed", default=1, show_default=True, help="Of the paces that are sampled.")
@click.option(
    "--out",
    default=ROOT / "benchmarks" / "out",
    show_default="benchmarks/out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory for pace_planning.json and pace_planning.png.",
)
def main(turns: int, tries: int, seed: int, out: Path) -> None:
    """Measure the search for paces; times are of the processor."""
    top = header({"turns": turns, "tries": tries, "seed": seed})
    click.echo(top.line())
    plans = tpch()
    found = list(cases(plans, tries))
    click.echo(
        f"{len(found)} goals on {len({id(goal.plan) for goal in found})} queries have a known best plan"
    )
    choice = random.Random(seed)
    readings = (
        *take_turns(PLANNING, {GREEDY: lambda _: timed(plans)}, turns),
        *take_turns(
            COST,
            {GREEDY: lambda _: ratios(found), SAMPLED: lambda _: ratios(found, choice)},
            turns,
        ),
    )
    verdicts = [judge(target, readings) for target in TARGETS]
    click.echo(table(readings, (MEDIAN, EIGHTIETH, WORST, MEAN_RATIO, WORST_RATIO, MISSED), GREEDY))
    click.echo("\n".join(map(verdict_line, verdicts)))
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / "pace_planning.json", top, readings, verdicts)
    panels = (Panel("Choosing paces", WORST, (PLANNING,)), Panel("Work beside the best", MEAN_RATIO, (COST,)))
    draw(out / "pace_planning.png", "What choosing paces costs", top.line(), panels, readings)


def tpch() -> list[DeltaPlan]:
    """The delta plans of the 22 queries."""
    snapshot = read_snapshot()
    known = [case for path in sorted(QUERIES.glob("*.bound")) for case in recorded(path)]
    return [plan(bound(case, snapshot), snapshot.tables, statistics()).delta for case in known]


def period(delta: DeltaPlan, share: float, costs: Costs = FAST) -> Simulation:
    """The period that brings this share of all rows."""
    return simulated(delta, statistics(1.0 - share + 1e-6), arrivals(share), costs)


def timed(plans: list[DeltaPlan]) -> Figures:
    """The time from a plan to its schedule over all of them, with two engines to choose from."""
    times = []
    for delta in plans:
        started = time.process_time()
        simulation = period(delta, 0.5, BOTH)
        scheduled(simulation, Goal(0.01, 100, max_cost=1e6), path_knobs(simulation.paths, simulation.idle))
        times.append((time.process_time() - started) * 1e3)
    return {MEDIAN: median(times), EIGHTIETH: quantiles(times, n=5)[-1], WORST: max(times)}


def cases(plans: list[DeltaPlan], tries: int) -> Iterator[Case]:
    """Goals between nothing and the most that can be had, where few enough paces are possible to try all."""
    for delta in plans:
        for share in SHARES:
            simulation = period(delta, share)
            knobs = path_knobs(simulation.paths, simulation.idle)
            most = int(tries ** (1.0 / len(knobs.leads)))
            if most < 3:
                continue
            most = min(most, 16)
            paces = Goal(0.0, most, max_cost=1e6, recomputes=False)
            reachable = scheduled(simulation, paces, knobs).reachable
            for part in (0.8, 0.5, 0.2):
                goal = reachable + part * (1.0 - reachable)
                batch = simulation.simulate((1,) * len(simulation.paths)).final
                best = exhaustive(simulation, knobs, goal * batch, most)
                if not isinf(best):
                    yield Case(delta, share, goal, most, best)


def ratios(found: list[Case], choice: random.Random | None = None) -> Figures:
    """Total work by that of the best plan: of the search, or of what is sampled in the time it takes."""
    totals = []
    for case in found:
        simulation = period(case.plan, case.share)
        knobs = path_knobs(simulation.paths, simulation.idle)
        started = time.process_time()
        schedule = scheduled(simulation, Goal(case.goal, case.most, max_cost=1e6, recomputes=False), knobs)
        took, total, limit = (
            time.process_time() - started,
            schedule.total_work,
            case.goal * schedule.batch_work,
        )
        if choice is not None:
            total = sampled(period(case.plan, case.share), knobs, limit, case.most, took, choice)
        elif schedule.final_work > limit * (1.0 + 1e-9):
            total = float("inf")
        totals.append(total / case.best)
    met = [total for total in totals if not isinf(total)]
    return {MEAN_RATIO: sum(met) / len(met), WORST_RATIO: max(met), MISSED: float(len(totals) - len(met))}


if __name__ == "__main__":
    main()
