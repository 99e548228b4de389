"""How often the parts of queries run between triggers, as the catalog keeps it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from psycopg import Connection

from catalog.rows import mapping_of, named, rows_of, values_of

# No batch reaches over the beginning of a period: it is kept as a reader's offset.
_PERIODS: Final = """
    SELECT q.id AS query, r.relation::oid::int8, coalesce(r.expected, 0) AS expected,
        (SELECT coalesce(sum(b.rows), 0)::int8 FROM gavial.batches b
         WHERE b.buffer = 'table-' || r.relation::oid AND b.from_offset >= (q.position - '0/0')::int8) AS came
    FROM gavial.queries q JOIN gavial.reads r ON r.query_id = q.id
    WHERE q.id = ANY (%s)
"""


@dataclass(frozen=True, slots=True)
class PacedPath:
    """A path as users read of it: its number, what it reads, the subplan that it leads to, and its pace."""

    path: int
    subplan: int
    reads: str
    pace: int
    incrementability: float | None
    predicted_work: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class SubplanText:
    """A part of a query as users read of it; if that is known, by what its estimates are multiplied, and what
    its work costs, as JSON.

    `engine`: what is expected to compute it when the trigger fires, with the reason and the work.
    """

    subplan: int
    text: str
    method: str
    correction: float | None
    weights: str | None
    engine: str
    reason: str
    predicted_work: float


@dataclass(frozen=True, slots=True)
class Period:
    """The changed rows since a query's result, and those expected until the next, by table."""

    arrived: Mapping[int, int]
    expected: Mapping[int, float]


def paced_queries(connection: Connection) -> frozenset[UUID]:
    """The queries of which some part runs before the trigger."""
    return frozenset(values_of(connection, "SELECT query_id FROM gavial.paths WHERE pace > 1"))


def paces_of(connection: Connection, query: UUID) -> Mapping[int, tuple[int, int]]:
    """The pace of each path of a query, and how many rows had come when it was last run."""
    question = "SELECT path, pace, rows_at_last_run FROM gavial.paths WHERE query_id = %s"
    return dict(rows_of(connection, _pace, question, (query,)))


def _pace(*, path: int, pace: int, rows_at_last_run: int) -> tuple[int, tuple[int, int]]:
    return path, (pace, rows_at_last_run)


def periods(connection: Connection, queries: Collection[UUID]) -> Mapping[UUID, Period]:
    """What came in the periods of these queries, by the manifest."""
    arrived: dict[UUID, dict[int, int]] = {query: {} for query in queries}
    expected: dict[UUID, dict[int, float]] = {query: {} for query in queries}

    def add(*, query: UUID, relation: int, **rows: Any) -> None:
        expected[query][relation], arrived[query][relation] = rows["expected"], rows["came"]

    rows_of(connection, add, _PERIODS, (list(queries),))
    return {query: Period(arrived[query], expected[query]) for query in queries}


def save_paces(connection: Connection, query: UUID, paths: Iterable[PacedPath]) -> None:
    """Other paces from now on; the runs of this period still count."""
    rows = [{"query": query, **named(path)} for path in paths]
    connection.execute(
        "DELETE FROM gavial.paths WHERE query_id = %s AND path <> ALL (%s)",
        (query, [row["path"] for row in rows]),
    )
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO gavial.paths "
            "(query_id, path, subplan, reads, pace, incrementability, predicted_work, reason) "
            "VALUES (%(query)s, %(path)s, %(subplan)s, %(reads)s, %(pace)s, %(incrementability)s, "
            "%(predicted_work)s, %(reason)s) ON CONFLICT (query_id, path) DO UPDATE SET "
            "subplan = excluded.subplan, reads = excluded.reads, pace = excluded.pace, "
            "incrementability = excluded.incrementability, predicted_work = excluded.predicted_work, "
            "reason = excluded.reason",
            rows,
        )


def save_expected(connection: Connection, query: UUID, rows: Mapping[int, float]) -> None:
    """What the period is expected to bring, by table."""
    with connection.cursor() as cursor:
        cursor.executemany(
            "UPDATE gavial.reads SET expected = %s WHERE query_id = %s AND relation::oid = %s",
            [(count, query, relation) for relation, count in rows.items()],
        )


def save_outlook(
    connection: Connection,
    query: UUID,
    subplans: Iterable[SubplanText],
    *,
    final_work: float,
    batch_work: float,
    recompute_work: float,
    reachable: bool | None,
) -> None:
    """The parts of a query, and what its period is expected to cost."""
    rows = [{"query": query, **named(subplan)} for subplan in subplans]
    connection.execute("DELETE FROM gavial.subplans WHERE query_id = %s", (query,))
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO gavial.subplans (query_id, subplan, text, method, correction, weights, "
            "engine, reason, predicted_work) "
            "VALUES (%(query)s, %(subplan)s, %(text)s, %(method)s, %(correction)s, %(weights)s, "
            "%(engine)s, %(reason)s, %(predicted_work)s)",
            rows,
        )
    connection.execute(
        "UPDATE gavial.queries SET predicted_final_work = %s, batch_work = %s, recompute_work = %s, "
        "goal_reachable = %s WHERE id = %s",
        (final_work, batch_work, recompute_work, reachable, query),
    )


def corrections_of(connection: Connection, query: UUID) -> Mapping[int, float]:
    """How many times as many rows each subplan writes as the cost model says; as far as that is known."""
    return mapping_of(
        connection,
        "SELECT subplan AS key, correction AS value FROM gavial.subplans "
        "WHERE query_id = %s AND correction IS NOT NULL",
        (query,),
    )


def note_worked(connection: Connection, query: UUID, rows_at_last_run: Mapping[int, int]) -> None:
    """Record how many rows had come when each path was last run."""
    with connection.cursor() as cursor:
        cursor.executemany(
            "UPDATE gavial.paths SET rows_at_last_run = %s WHERE query_id = %s AND path = %s",
            [(rows, query, path) for path, rows in rows_at_last_run.items()],
        )


def begin_period(connection: Connection, query: UUID) -> None:
    """A result is published: nothing has arrived since."""
    connection.execute(
        "UPDATE gavial.paths SET rows_at_last_run = 0 WHERE query_id = %s AND rows_at_last_run <> 0", (query,)
    )
