"""How often goals are kept through a running Gavial: periods of 240,000 rows on a table of two million."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click
import psycopg

from benchmarks.support.chart import Panel, draw
from benchmarks.support.measure import Reading, Target, judge
from benchmarks.support.processes import wait_until_idle
from benchmarks.support.report import ROOT, header, table, verdict_line, write_json
from benchmarks.support.tpch_changes import SETTINGS
from tests.support.answers.answering import check, wait_until_answered
from tests.support.running.servers import Gavial, gavial, postgres
from tests.support.running.standing_databases import fresh_database, session

ROWS: Final = 2_000_000
PERIOD: Final = 240_000
TRANSACTIONS: Final = 48
"""In so many transactions the rows of a period come."""

SETUP: Final = """
CREATE TABLE shop (id int PRIMARY KEY, region text, opened date);
CREATE TABLE sale (id bigint PRIMARY KEY, shop int, product int, day date, price numeric(12, 2), pieces int);
INSERT INTO shop SELECT s, 'region ' || s % 20, date '2020-01-01' + s % 900 FROM generate_series(1, 2000) s
"""
INSERT: Final = """
INSERT INTO sale SELECT i, 1 + (i * 7919) %% 2000, (i * 104729) %% 50000,
    date '2024-01-01' + (i / 20000)::int, (i * 31 %% 99991) / 100.0, 1 + i %% 9
FROM generate_series(%s::bigint, %s::bigint) AS i
"""
UPDATE: Final = "UPDATE sale SET price = price + 1 WHERE id BETWEEN %s AND %s"

QUERIES: Final[Mapping[str, str]] = {
    "by shop": "SELECT shop, count(*) AS n, sum(price * pieces) AS revenue FROM sale GROUP BY shop",
    "by day": "SELECT day, shop, count(*) AS n, sum(price) AS revenue FROM sale GROUP BY day, shop",
    "by product": "SELECT product, count(*) AS n, sum(price * pieces) AS revenue FROM sale GROUP BY product",
    "by region": "SELECT region, day, sum(price) AS revenue, max(price) AS dearest "
    "FROM sale JOIN shop ON shop.id = sale.shop GROUP BY region, day",
    "buyers": "SELECT shop, count(DISTINCT product) AS products FROM sale GROUP BY shop",
    "above average": "SELECT s.shop, count(*) AS n FROM sale s JOIN (SELECT product, avg(price) AS a "
    "FROM sale GROUP BY product) p ON p.product = s.product WHERE s.price > p.a GROUP BY s.shop",
}
GOALS: Final = (0.1, 0.05)

GAVIAL: Final = "Gavial"
KEPT: Final = "periods that kept the goal"
SHARE: Final = "final / batch"
TOTAL: Final = "total / batch"
BATCH: Final = "batch, CPU s"
PREDICTED: Final = "predicted / measured, final"
ALL: Final = "all periods"

MEASURED: Final = """
    SELECT measured_final_work, total_work / batch_work, batch_work,
        predicted_final_work / measured_final_work, met::int
    FROM gavial.triggers WHERE met IS NOT NULL ORDER BY fired DESC LIMIT 1
"""


@click.command()
@click.option("--periods", default=10, show_default=True, help="How many periods are measured.")
@click.option("--learning", default=2, show_default=True, help="How many come before, to learn from.")
@click.option("--rows", default=ROWS, show_default=True, help="How many rows the table has.")
@click.option("--period", default=PERIOD, show_default=True, help="How many rows come in a period.")
@click.option("--pause", default=0.25, show_default=True, help="Seconds between two transactions.")
@click.option("--query", "only", multiple=True, type=click.Choice(list(QUERIES)), help="Only this one.")
@click.option("--goal", "goals", multiple=True, type=float, default=GOALS, show_default=True)
@click.option(
    "--out",
    default=ROOT / "benchmarks" / "out",
    show_default="benchmarks/out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory for kept_goals.json and kept_goals.png.",
)
def main(
    periods: int,
    learning: int,
    rows: int,
    period: int,
    pause: float,
    only: tuple[str, ...],
    goals: tuple[float, ...],
    out: Path,
) -> None:
    """Keep queries with a goal while rows come, a tenth of them updates, and see whether it is kept."""
    top = header({"rows": rows, "period": period, "periods": periods, "learning": learning})
    click.echo(top.line())
    readings = list[Reading]()
    with postgres(18, settings=SETTINGS) as server, gavial(upstream=server) as running:
        for name in only or QUERIES:
            for goal in goals:
                with fresh_database(running) as dsn, session(dsn) as user:
                    site = _Site(user, running, rows, period, pause)
                    readings += site.measured(name, goal, learning, periods)
    readings += _summary(readings)
    cases = tuple(dict.fromkeys(reading.case for reading in readings))
    verdicts = [judge(target, readings) for target in _targets(cases)]
    click.echo(table(readings, (SHARE, TOTAL, BATCH, PREDICTED, KEPT), GAVIAL))
    click.echo("\n".join(map(verdict_line, verdicts)))
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / "kept_goals.json", top, readings, verdicts)
    panels = (Panel("Work left for the trigger", SHARE, cases[:-1]), Panel("All work", TOTAL, cases[:-1]))
    draw(out / "kept_goals.png", "Goals kept", top.line(), panels, readings)


@dataclass(frozen=True, slots=True)
class _Site:
    """A database with one standing query, and how its rows come."""

    user: psycopg.Connection
    running: Gavial
    rows: int
    period: int
    pause: float

    def measured(self, name: str, goal: float, learning: int, periods: int) -> Iterator[Reading]:
        """Periods of one query, after some that are not measured."""
        user = self.user
        user.execute(SETUP.encode())
        user.execute(INSERT.encode(), (1, self.rows))
        options = f"FINAL_WORK = {goal}, EXPECT = 'sale {self.period}'"
        user.execute(f"CREATE STANDING QUERY kept WITH ({options}) AS {QUERIES[name]} WITH NO DATA".encode())
        wait_until_answered(user, ["kept"])
        wait_until_idle(self.running.process.pid)
        for number in range(learning + periods):
            self._come(number)
            user.execute(b"REFRESH STANDING QUERY kept")
            figures = self._figures()
            words = ", ".join(f"{figure} {value:.3g}" for figure, value in figures.items())
            click.echo(f"{name}, {goal}, period {number}: {words}")
            if number >= learning:
                yield Reading(f"{name}, {goal:g}", GAVIAL, number - learning, figures)
        check(user, "kept")

    def _come(self, number: int) -> None:
        """The rows of a period: nine of ten are new, one is an update, which counts as two."""
        new, changed = self.period * 9 // 10 // TRANSACTIONS, self.period // 20 // TRANSACTIONS
        for place in range(TRANSACTIONS):
            done = number * TRANSACTIONS + place
            first = self.rows + 1 + done * new
            changed_from = 1 + done * changed * 7 % (self.rows - changed)
            with self.user.transaction():
                self.user.execute(INSERT.encode(), (first, first + new - 1))
                self.user.execute(UPDATE.encode(), (changed_from, changed_from + changed - 1))
            time.sleep(self.pause)

    def _figures(self) -> Mapping[str, float]:
        row = self.user.execute(MEASURED.encode()).fetchone()
        assert row is not None, "no period was measured"
        return dict(zip((SHARE, TOTAL, BATCH, PREDICTED, KEPT), row, strict=True))


def _summary(readings: Sequence[Reading]) -> Iterator[Reading]:
    """Over all periods: the share that kept its goal."""
    kept = [reading.figures[KEPT] for reading in readings]
    yield Reading(ALL, GAVIAL, 0, {KEPT: sum(kept) / len(kept)})


def _targets(cases: Sequence[str]) -> Iterator[Target]:
    yield Target(ALL, KEPT, GAVIAL, None, "at least", 0.9)
    for case in cases:
        if case != ALL:
            yield Target(case, TOTAL, GAVIAL, None, "at most", 2.0)


if __name__ == "__main__":
    main()
