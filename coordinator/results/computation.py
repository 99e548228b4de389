"""Computes a result at a position: from changes, from all rows, or from these where a change is an error."""

from __future__ import annotations

from psycopg import Connection

from catalog.capture.widening import has_come_since_copied
from catalog.errors import ConcurrentChange, Error
from catalog.queries.executions import begin_execution
from catalog.queries.running import Running, rows_behind
from coordinator.firing.batches import BatchIndex
from coordinator.firing.outcome import RunOutcome
from coordinator.firing.progress import Progress, Telling, Wanted
from coordinator.firing.query_run import QueryRun
from coordinator.firing.read_offsets import is_flushed, read_positions
from coordinator.firing.work import NOTHING_READ, PUBLISHED
from coordinator.planning.prices import Prices
from coordinator.publish.changes import Changes
from coordinator.results.computed_changes import ComputedChanges, How
from coordinator.results.query import StandingQuery
from coordinator.results.rare_values import PLANNED_AGAIN, note_rare_values
from coordinator.results.storable import require_storable
from executors.executor import Executor
from executors.rows import arrow_schema
from planner.pace.paths import paths


def compute(
    standing: StandingQuery,
    connection: Connection,
    query: Running,
    position: int,
    from_scratch: bool,
    wanted: Wanted,
) -> ComputedChanges:
    """Compute the result at a position, without publishing it."""
    require_storable(connection, standing.site, standing.work, position)
    is_first = from_scratch or query.status == "initialising" or not standing.offsets
    from_scratch = is_first or standing.begins_from_scratch
    schema = arrow_schema(standing.work.schemas[standing.work.plan.result])
    if (
        not from_scratch
        and is_flushed(standing.work, standing.offsets)
        and rows_behind(connection, read_positions(standing.work, standing.offsets)) == 0
    ):
        nothing = Changes.of(schema.empty_table())
        return ComputedChanges(
            position=position,
            number=0,
            fired=None,
            changes=nothing,
            offsets=standing.offsets,
            base=standing.offsets,
            how=How(),
        )
    index = standing.batch_index(connection, standing.work.schemas)
    if from_scratch:
        prices: Prices | None = standing.first_price(connection, index, position)
    else:
        prices = standing.prices(connection, query, index, position)
    is_rebuilt = not from_scratch and prices is not None and prices.is_recomputed
    how = How(from_scratch or is_rebuilt, is_rebuilt, prices, has_goal=not is_first)
    if is_rebuilt:
        index = standing.batch_index(connection, standing.work.tables)
    try:
        return _compute(standing, connection, index, position, how, wanted)
    except Error as error:
        if not error.of_values:
            raise
        if not standing.offsets and not has_come_since_copied(connection, query.id):
            _outgrow(standing, connection, error)
            raise
        # A row that was deleted since may be to blame, so only rows that are there now are read.
        return _compute_again(standing, connection, position, wanted)


def compute_all(
    standing: StandingQuery, connection: Connection, position: int, wanted: Wanted
) -> ComputedChanges:
    """The whole result at a position, from what was captured and nothing that was computed before."""
    index = standing.batch_index(connection, standing.work.tables)
    how = How(from_scratch=True, rebuild=True, has_goal=False)
    return _compute(standing, connection, index, position, how, wanted)


def _compute_again(
    standing: StandingQuery, connection: Connection, position: int, wanted: Wanted
) -> ComputedChanges:
    try:
        return compute_all(standing, connection, position, wanted)
    except Error as error:
        _outgrow(standing, connection, error)
        raise


def _outgrow(standing: StandingQuery, connection: Connection, error: Error) -> None:
    """Have the query planned again, once, if it failed by values that its plan does not expect."""
    if note_rare_values(connection, standing.site, standing.work, error):
        standing.is_outgrown = True
        raise ConcurrentChange(PLANNED_AGAIN) from error


def _compute(
    standing: StandingQuery,
    connection: Connection,
    index: BatchIndex,
    position: int,
    how: How,
    wanted: Wanted,
) -> ComputedChanges:
    offsets = NOTHING_READ if how.rebuild else standing.offsets
    judged = standing.judged(connection)
    all_paths = range(len(paths(standing.work.plan)))
    number = begin_execution(connection, standing.query.id, all_paths)
    warehouse = standing.site.warehouse
    progress = Progress(len(standing.work.plan.subplans))
    telling = Telling(connection, number, progress, lambda: standing.engine.starts, wanted)

    def work(executor: Executor) -> RunOutcome:
        engine_for = judged.engine_for(standing.fresh, consolidates=how.rebuild)
        return QueryRun(
            executor=executor,
            work=standing.work,
            offsets=offsets,
            batch_index=index,
            warehouse=warehouse,
            number=number,
            consolidate=how.rebuild,
            progress=progress,
            engine_for=engine_for,
            states=standing.state_budget,
        ).fire(position)

    try:
        fired = standing.engine.run(work, telling.is_wanted)
    except Exception:
        telling.end()
        raise
    result = standing.work.plan.result
    last = fired.offsets[result, standing.published[1]]
    since = 0 if how.from_scratch else standing.offsets.get(standing.published, 0)
    changes = index.changes(result, (since, last), arrow_schema(standing.work.schemas[result]))
    if not how.from_scratch and standing.offsets.get((result, standing.published[1]), 0) > since:
        changes = changes.summed()
    telling.tell(f"publishing {changes.rows:,} changed rows")
    period = {(PUBLISHED, standing.work.name(table)): position for table in standing.work.tables}
    reached = {**fired.offsets, **period, standing.published: last}
    return ComputedChanges(
        position=position,
        number=number,
        fired=fired,
        changes=changes,
        offsets=reached,
        base=standing.offsets,
        how=how,
    )
