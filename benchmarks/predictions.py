"""How well the cost model predicts what runs take: first results, small and large changes, recomputations."""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click
import psycopg

from benchmarks.support.measure import Reading, Target, judge
from benchmarks.support.report import ROOT, header, verdict_line, write_json
from benchmarks.support.tpch_changes import SETTINGS, change_thousand
from tests.support.answers.answering import ANSWER_SECONDS, check, wait_until_answered
from tests.support.answers.tpch_data import load, text_of
from tests.support.capture.databases import one
from tests.support.running.servers import gavial, postgres, wait_until
from tests.support.running.standing_databases import fresh_database, session

WITHIN: Final = 1.5
FIRST: Final = "first result"
SMALL: Final = "small changes"
LARGE: Final = "large changes"
ALL_ROWS: Final = "all rows"
RECOMPUTED: Final = "recomputed"
EVERY: Final = "every run"
SHARE: Final = "share within 1.5"
WORK: Final = "processor s"
MODEL: Final = "cost model"

QUERIES: Final[Mapping[str, str]] = {
    "q01": text_of("q01"),
    "q03": text_of("q03"),
    "q06": text_of("q06"),
    "q13": text_of("q13"),
    "q18": text_of("q18"),
    "sums": "SELECT o_custkey, count(*) AS n, sum(o_totalprice) AS total FROM orders GROUP BY o_custkey",
    "joined": "SELECT o_orderkey, o_totalprice, c_name, c_mktsegment FROM orders, customer "
    "WHERE o_custkey = c_custkey AND o_orderpriority = '1-URGENT'",
    "parts": "SELECT l_shipmode, count(DISTINCT l_partkey) AS parts, max(l_extendedprice) AS dearest "
    "FROM lineitem GROUP BY l_shipmode",
}
"""Of TPC-H five, and three simple ones."""

UPDATES: Final = (
    "UPDATE orders SET o_totalprice = o_totalprice + 1, o_shippriority = o_shippriority + 1 "
    "WHERE o_orderkey % {of} < {part}",
    "UPDATE lineitem SET l_quantity = l_quantity % 50 + 1, l_extendedprice = l_extendedprice + 1 "
    "WHERE l_orderkey % {of} < {part}",
)

STEPS: Final = (SMALL, SMALL, SMALL, LARGE, LARGE, SMALL, ALL_ROWS, ALL_ROWS, SMALL, LARGE)
"""What comes before each REFRESH of all queries: the sizes follow one another as they do for users."""

RUNS: Final = """
    SELECT e.from_scratch, coalesce(e.measured_work, 0) + coalesce(e.publishing_work, 0), coalesce(
        CASE WHEN e.from_scratch THEN e.recompute_work ELSE e.changes_work END, e.predicted_work), e.engine,
        e.changes_work, e.recompute_work
    FROM gavial.executions e JOIN gavial.queries q ON e.query_ids = ARRAY[q.id]
    WHERE q.result = %s::regclass AND e.finished IS NOT NULL ORDER BY e.id DESC LIMIT 1
"""

PARTS: Final = """
    SELECT coalesce(jsonb_agg(to_jsonb(m) || jsonb_build_object('query', q.result::text,
        'from_scratch', e.from_scratch, 'publishing_work', e.publishing_work, 'expected_publishing_work',
        e.expected_publishing_work) ORDER BY m.execution, m.subplan), '[]')
    FROM gavial.measurements m JOIN gavial.executions e ON e.id = m.execution
    JOIN gavial.queries q ON e.query_ids = ARRAY[q.id]
"""

TARGETS: Final = (
    Target(EVERY, SHARE, MODEL, None, "at least", 0.9),
    *(Target(kind, SHARE, MODEL, None, "at least", 0.9) for kind in (FIRST, SMALL, LARGE, ALL_ROWS)),
)


@dataclass(frozen=True, slots=True)
class Run:
    """A run that was measured, and what was predicted of it; of either way where there was a choice."""

    query: str
    kind: str
    is_recomputed: bool
    engine: str
    predicted: float
    measured: float
    changes: float | None
    recompute: float | None

    @property
    def ratio(self) -> float:
        """How many times as much as predicted it took."""
        return self.measured / self.predicted if self.predicted else float("inf")

    @property
    def is_within(self) -> bool:
        """Whether the prediction was near enough."""
        return 1.0 / WITHIN <= self.ratio <= WITHIN

    def line(self) -> str:
        """The run in one line."""
        way = RECOMPUTED if self.is_recomputed else "changes"
        prices = "" if self.changes is None else f"  ({self.changes:.3f} beside {self.recompute or 0:.3f})"
        figures = f"{self.predicted:9.3f} {self.measured:9.3f} {self.ratio:7.2f}"
        return f"{self.query:9} {self.kind:14} {way:11} {figures}  {self.engine}{prices}"


@click.command()
@click.option("--scale", default=0.2, show_default=True, help="Scale factor of TPC-H.")
@click.option("--postgres", "major", default=18, show_default=True, help="Major version of the server.")
@click.option("--query", "only", multiple=True, type=click.Choice(list(QUERIES)), help="Only this one.")
@click.option("--option", "options", multiple=True, help="An option of gavial serve, as --engine=spark.")
@click.option(
    "--out",
    default=ROOT / "benchmarks" / "out",
    show_default="benchmarks/out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory for predictions.json, and predictions-parts.json: what each part of a run had to do.",
)
def main(scale: float, major: int, only: tuple[str, ...], options: tuple[str, ...], out: Path) -> None:
    """Run eight queries through changes of many sizes, and compare what each run took with its prediction."""
    top = header({"scale": str(scale), "queries": ",".join(only) or "all", "options": " ".join(options)})
    click.echo(top.line())
    click.echo(f"{'query':9} {'kind':14} {'way':11} {'predicted':>9} {'measured':>9} {'ratio':>7}  engine")
    with postgres(major, settings=SETTINGS) as server, gavial(*options, upstream=server) as running:
        found = []
        with (
            fresh_database(running) as dsn,
            session(dsn) as user,
            tempfile.TemporaryDirectory(prefix="gavial-predictions-") as home,
        ):
            load(user, Path(home), scale)
            for run in runs(user, scale, only or tuple(QUERIES)):
                click.echo(run.line())
                found.append(run)
            parts = one(user, PARTS)
    readings = [Reading(kind, MODEL, 0, figures) for kind, figures in summary(found).items()]
    for reading in readings:
        figures = reading.figures
        click.echo(f"{reading.case:14} {int(figures['runs']):4} runs  {figures[SHARE]:5.2f} within {WITHIN}")
    click.echo(f"total work of the mix: {sum(run.measured for run in found):.1f} s of a processor")
    verdicts = [judge(target, readings) for target in TARGETS]
    click.echo("\n".join(map(verdict_line, verdicts)))
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / "predictions.json", top, readings, verdicts)
    (out / "predictions-parts.json").write_text(json.dumps(parts))


def runs(user: psycopg.Connection, scale: float, names: Sequence[str]) -> Iterator[Run]:
    """The first results one after another, then all queries refreshed after each step."""
    for name in names:
        user.execute(f"CREATE STANDING QUERY {name} AS {QUERIES[name]} WITH NO DATA".encode())
        wait_until_answered(user, [name])
        yield _latest(user, name, FIRST)
        _wait_for_paces(user, name)
    for number, step in enumerate(STEPS):
        _change(user, step, scale, number)
        for name in names:
            user.execute(f"REFRESH STANDING QUERY {name}".encode())
            yield _latest(user, name, step)
            _wait_for_paces(user, name)
    check(user, *names)


def _change(user: psycopg.Connection, step: str, scale: float, number: int) -> None:
    """Change rows of orders and of lineitem: a thousand, every seventh, or all."""
    if step == SMALL:
        change_thousand(user, scale, number)
        return
    with user.transaction():
        for statement in UPDATES:
            user.execute(statement.format(of=7, part=1 if step == LARGE else 7).encode())


def _wait_for_paces(user: psycopg.Connection, name: str) -> None:
    """Paces are chosen for a period before its changes come, as they are where nobody is in a hurry."""
    chosen = (
        "SELECT EXISTS (SELECT FROM gavial.paths p JOIN gavial.queries q ON q.id = p.query_id "
        "WHERE q.result = %s::regclass)"
    )

    def is_chosen() -> bool:
        row = user.execute(chosen.encode(), (name,)).fetchone()
        return row is not None and bool(row[0])

    wait_until(is_chosen, f"no paces are chosen for {name}", ANSWER_SECONDS)


def _latest(user: psycopg.Connection, name: str, kind: str) -> Run:
    row = user.execute(RUNS.encode(), (name,)).fetchone()
    assert row is not None, f"{name} has no run"
    is_recomputed, measured, predicted, engine, changes, recompute = row
    return Run(
        query=name,
        kind=kind,
        is_recomputed=is_recomputed,
        engine=engine or "",
        predicted=predicted or 0.0,
        measured=measured,
        changes=changes,
        recompute=recompute,
    )


def summary(found: Sequence[Run]) -> Mapping[str, Mapping[str, float]]:
    """By kind: how many runs, the share that was predicted within the factor, and the work."""
    kinds: defaultdict[str, list[Run]] = defaultdict(list)
    for run in found:
        kinds[run.kind].append(run)
        kinds[EVERY].append(run)
        if run.kind != FIRST:
            kinds[RECOMPUTED if run.is_recomputed else "changes"].append(run)
    return {
        kind: {
            "runs": float(len(of_kind)),
            SHARE: sum(run.is_within for run in of_kind) / len(of_kind),
            WORK: sum(run.measured for run in of_kind),
        }
        for kind, of_kind in kinds.items()
    }


if __name__ == "__main__":
    main()
