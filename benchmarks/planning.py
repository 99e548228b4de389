"""How long a query takes to be planned: each of TPC-H, and large ones of a size and of twice that size."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import TypeVar

import click

from benchmarks.support.chart import Panel, draw
from benchmarks.support.measure import Figures, Target, judge, take_turns
from benchmarks.support.report import ROOT, header, table, verdict_line, write_json
from benchmarks.support.tpch_warehouse import ROWS
from catalog.postgres.schema import Tables
from dialect.binding.bind import bind
from dialect.binding.canonical_text import read_query
from dialect.bound.query import Query
from executors.spark.compile.subplan import compile_subplan, schemas_of
from planner.algebra.statistics import Statistics, TableStatistics
from planner.plan import plan
from tests.support.binding.cases import FOLDER, read_snapshot, recorded
from tests.support.planning.large_queries import SHAPES, Shape
from tests.support.planning.large_queries import TABLES as LARGE_TABLES

Item = TypeVar("Item")

MEDIAN, WORST = "median ms", "worst ms"
PARSING, PLANNING = "sqlglot's parser", "planner"
TPCH = "TPC-H, 22 queries"
SIZE, TWICE = "the size", "twice the size"
CHAIN = "chain of joins"
TARGETS = (
    Target(TPCH, MEDIAN, PLANNING, None, "at most", 30.0),
    Target(TPCH, WORST, PLANNING, None, "at most", 150.0),
    Target(CHAIN, WORST, TWICE, None, "at most", 2000.0),
    *(Target(shape, WORST, TWICE, SIZE, "at most", 3.5) for shape in SHAPES),
)


@click.command()
@click.option("--turns", default=5, show_default=True, help="How often everything is measured.")
@click.option(
    "--out",
    default=ROOT / "benchmarks" / "out",
    show_default="benchmarks/out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory for planning.json and planning.png.",
)
def main(turns: int, out: Path) -> None:
    """Measure the planner beside the parser of the same texts, and large queries beside doubled ones."""
    top = header({"Python": platform.python_version(), "turns": turns})
    click.echo(top.line())
    texts, queries, tables = tpch()
    statistics = Statistics({name: TableStatistics(ROWS[name.name]) for name in tables if name.name in ROWS})
    ways = {
        PARSING: over(texts, read_query),
        PLANNING: over(queries, lambda query: plan(query, tables, statistics)),
    }
    readings = take_turns(TPCH, ways, turns)
    for name, shape in SHAPES.items():
        readings += take_turns(name, doubled(shape), turns)
    verdicts = [judge(target, readings) for target in TARGETS]
    click.echo(table(readings, (MEDIAN, WORST), PARSING))
    click.echo("\n".join(map(verdict_line, verdicts)))
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / "planning.json", top, readings, verdicts)
    panels = (Panel("From bound query to delta plan", MEDIAN, (TPCH,)), Panel("The slowest", WORST, (TPCH,)))
    draw(out / "planning.png", "What planning costs", top.line(), panels, readings)


def tpch() -> tuple[list[str], list[Query], Tables]:
    """The canonical texts as recorded from PostgreSQL, the same bound, and the tables that they read."""
    snapshot = read_snapshot()
    cases = [case for path in sorted(FOLDER.glob("tpch/*.bound")) for case in recorded(path)]
    queries = [bind(case.canonical, snapshot.tables, snapshot.signatures, case.columns) for case in cases]
    return [case.canonical for case in cases], queries, snapshot.tables


def doubled(shape: Shape) -> dict[str, Callable[[int], Figures]]:
    """All that CREATE does with a query in this process, for its size and for twice that."""
    signatures = read_snapshot().signatures

    def work(size: int) -> object:
        delta = plan(shape.bound(size, signatures), LARGE_TABLES, Statistics()).delta
        schemas = schemas_of(delta)
        return [compile_subplan(subplan, schemas) for subplan in delta.subplans]

    return {SIZE: over([shape.size], work), TWICE: over([2 * shape.size], work)}


def over(items: list[Item], work: Callable[[Item], object]) -> Callable[[int], Figures]:
    """The time of this work over each item: the median and the worst."""

    def measure(_turn: int) -> Figures:
        times = []
        for item in items:
            started = time.perf_counter()
            work(item)
            times.append((time.perf_counter() - started) * 1e3)
        return {MEDIAN: median(times), WORST: max(times)}

    return measure


if __name__ == "__main__":
    main()
