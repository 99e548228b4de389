"""An early run: the paths that are due between two triggers, computed and committed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import psycopg
from psycopg import Connection

from catalog.capture.store import held_epoch, name_batches
from catalog.failpoints import failpoint
from catalog.queries.computed import forget_batches_like
from catalog.queries.executions import begin_execution, end_execution
from catalog.queries.paces import note_worked
from catalog.queries.running import Running, forget_offset, save_offsets
from coordinator.firing.fresh_rows import fresh_after
from coordinator.firing.outcome import RunOutcome
from coordinator.firing.progress import Wanted
from coordinator.firing.query_run import QueryRun
from coordinator.firing.read_offsets import period_began
from coordinator.firing.work import NOTHING_READ, node_buffers, offsets_to
from coordinator.results.paced_paths import arrived_rows
from coordinator.results.query import StandingQuery
from executors.executor import Executor
from planner.pace.paths import Path, paths


def run_early(
    standing: StandingQuery,
    connection: Connection,
    query: Running,
    position: int,
    due: Mapping[Path, int],
    consolidate: bool,
    wanted: Wanted,
) -> Collection[str] | None:
    """Run the due paths between triggers, each with the rows that it then has read, and commit.

    `consolidate`: rows that were deleted since are not read. The files that it took the place of, which are
    garbage; None if the query has changed.
    """
    numbers = {path: number for number, path in enumerate(paths(standing.work.plan))}
    index = standing.batch_index(connection, standing.work.schemas)
    prices = standing.prices(connection, query, index, position, due)
    rebuild = prices is not None and prices.is_recomputed
    rows_read: Mapping[Path, int] = due
    if rebuild:
        rows_read = arrived_rows(connection, query.id, standing.work)
        index = standing.batch_index(connection, standing.work.tables)
    due_numbers = sorted(numbers[path] for path in due)
    number = begin_execution(connection, query.id, due_numbers)
    warehouse, judged = standing.site.warehouse, standing.judged(connection)

    def work(executor: Executor) -> RunOutcome:
        run = QueryRun(
            executor=executor,
            work=standing.work,
            offsets=NOTHING_READ if rebuild else standing.offsets,
            batch_index=index,
            warehouse=warehouse,
            number=number,
            consolidate=consolidate or rebuild,
            engine_for=judged.engine_for(standing.fresh, consolidates=consolidate or rebuild),
            states=standing.state_budget,
        )
        return run.fire(position, None if rebuild else due)

    fired = standing.engine.run(work, wanted)
    failpoint("ahead: fired")
    reached = {**period_began(standing.work, standing.offsets), **fired.offsets} if rebuild else fired.offsets
    replaced: list[str] = []

    def record() -> None:
        if rebuild:
            replaced.extend(forget_batches_like(connection, node_buffers(query.id)))
            forget_offset(connection, query.id, *standing.published)
        name_batches(connection, fired.batches)
        save_offsets(connection, query.id, offsets_to(reached))
        execution = judged.execution(position, fired, prices, rebuild, standing.fresh)
        end_execution(connection, number, execution)
        note_worked(connection, query.id, {numbers[path]: rows for path, rows in rows_read.items()})

    if not _commit(standing, connection, query, fired, record):
        return None
    standing.offsets = reached
    standing.fresh = fresh_after(standing.fresh, fired.subplans)
    return replaced


def _commit(
    standing: StandingQuery,
    connection: Connection,
    query: Running,
    fired: RunOutcome,
    record: Callable[[], None],
) -> bool:
    """Record an early run in a transaction, unless the query has changed; then its files are removed."""
    committed = False
    try:
        with held_epoch(connection, standing.site.epoch):
            if standing.is_as_planned(connection, query):
                record()
                committed = True
            failpoint("ahead: before commit")
    except psycopg.Error:
        committed = connection.closed  # then it is unknown whether it was
        raise
    finally:
        if not committed:
            standing.site.warehouse.remove(batch.file for batch in fired.batches)
    return committed
