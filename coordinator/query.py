"""A standing query from its plan to its published answer."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
from psycopg import Connection

from catalog.running import (
    Running,
    begin_execution,
    end_execution,
    hold_query,
    offsets,
    plan_of,
    record_trigger,
    save_offsets,
    save_plan,
    set_position,
)
from catalog.signatures import Signatures
from catalog.store import hold_epoch, manifest, name_batches
from coordinator.engine import Engine
from coordinator.firing import Fired, Round
from coordinator.planning import Bound, bind_view, digest_of, plan_bound
from coordinator.publishing import Answer, StoredColumn, apply_changes
from coordinator.shelf import Shelf
from coordinator.statistics import read_statistics, statistics_from_json, statistics_to_json
from coordinator.verifying import Difference, differing_rows
from coordinator.work import PUBLISHED, Offsets, Work, node_buffers, offsets_from, offsets_to
from executors.spark.compile import compile_subplan, schemas_of
from executors.spark.relation import name_of
from executors.spark.types import arrow_schema
from planner.plan import Planned
from planner.weighted import NodeBuffer, TableBuffer
from sources.joining import wait_for
from sources.place import Place
from sources.position import take_position

log = logging.getLogger(__name__)


@dataclass(slots=True)
class StandingQuery:
    """What is known of a query while it is worked."""

    place: Place
    engine: Engine
    query: Running
    work: Work
    answer_table: Answer
    offsets: Offsets

    @staticmethod
    def plan(
        connection: Connection, place: Place, engine: Engine, query: Running, signatures: Signatures
    ) -> StandingQuery:
        """Plan it as it was planned before, so that what it kept can be used; anew where that cannot be."""
        bound = bind_view(connection, query.view, signatures)
        before = plan_of(connection, query.id)
        planned = None
        if before is not None:
            planned = plan_bound(bound, statistics_from_json(before[1]))
        if before is None or planned is None or digest_of(planned) != before[0]:
            statistics = read_statistics(connection, bound.tables)
            planned = plan_bound(bound, statistics)
            with connection.transaction():
                hold_epoch(connection, place.epoch)
                save_plan(
                    connection,
                    query.id,
                    digest_of(planned),
                    statistics_to_json(statistics),
                    node_buffers(query.id),
                )
        work = _work(query, bound, planned)
        return StandingQuery(
            place,
            engine,
            query,
            work,
            _answer_table(connection, query, work),
            offsets_from(offsets(connection, query.id)),
        )

    def answer(self, connection: Connection, query: Running, position: int) -> bool:
        """Fire everything up to a position and publish; False if the query is not what it was any more."""
        shelf = self._shelf(connection)
        number = begin_execution(connection, query.id, ())
        warehouse = self.place.warehouse
        with self.engine.session() as session:
            fired = Round(session, self.work, self.offsets, shelf, warehouse, number).fire(position)
        published = False
        try:
            published = self._publish(connection, query, shelf, fired, number, position)
        finally:
            if not published:
                warehouse.remove(each.file for each in fired.batches)
        return published

    def _publish(
        self, connection: Connection, query: Running, shelf: Shelf, fired: Fired, number: int, position: int
    ) -> bool:
        answer = self.work.plan.answer
        known = (PUBLISHED, self.work.name(answer)) in self.offsets
        anew = query.status == "initialising" or not known
        changes, offsets = self._unpublished(shelf, fired, anew)
        with connection.transaction():
            hold_epoch(connection, self.place.epoch)
            if not hold_query(connection, query):
                return False
            name_batches(connection, fired.batches)
            save_offsets(connection, query.id, offsets_to(offsets))
            apply_changes(connection, self.answer_table, changes, anew)
            end_execution(connection, number, fired.rows_in, fired.rows_out, fired.jobs)
            record_trigger(connection, query.id, position, fired.seconds)
            set_position(connection, query.id, position)
        self.offsets = offsets
        return True

    def verify(
        self, connection: Connection, query: Running, passed: Callable[[], int], go_on: Callable[[], bool]
    ) -> tuple[int, list[Difference]]:
        """Compare the answer, brought up to a position of now, with PostgreSQL's at that position."""
        place = self.place

        def tell(process: int) -> None:
            log.info("verification of %s.%s waits for process %d", query.schema, query.name, process)

        with take_position(place.address, go_on, tell) as position:
            wait_for(position.lsn, passed, go_on)
            shelf = self._shelf(connection)
            number = begin_execution(connection, query.id, ())
            with self.engine.session() as session:
                fired = Round(session, self.work, self.offsets, shelf, place.warehouse, number).fire(
                    position.lsn
                )
            try:
                changes, _ = self._unpublished(shelf, fired, anew=False)
                table = self.answer_table
                found = differing_rows(connection, place.address, query, table, changes, position)
            finally:
                place.warehouse.remove(each.file for each in fired.batches)
            return position.lsn, found

    def _unpublished(self, shelf: Shelf, fired: Fired, anew: bool) -> tuple[pa.Table, Offsets]:
        """The answer's changes since it was published, or all of it, and how far it is published then."""
        answer = self.work.plan.answer
        name = self.work.name(answer)
        last = fired.offsets[answer, name]
        since = 0 if anew else self.offsets.get((PUBLISHED, name), 0)
        changes = shelf.rows(answer, (since, last), arrow_schema(self.work.schemas[answer]))
        return changes, {**fired.offsets, (PUBLISHED, name): last}

    def rows_waiting(self, connection: Connection) -> int:
        """Changed rows of its tables since it was fired."""
        count = 0
        for subplan in self.work.plan.subplans:
            for buffer in set(subplan.reads) & set(self.work.tables):
                name = self.work.name(buffer)
                since = self.offsets.get((subplan.writes, name), 0)
                count += sum(each.rows for each in manifest(connection, name) if each.from_offset >= since)
        return count

    def _shelf(self, connection: Connection) -> Shelf:
        names = {self.work.name(each.number) for each in self.work.plan.buffers}
        return Shelf(
            self.work,
            self.place.warehouse,
            (batch for name in sorted(names) for batch in manifest(connection, name)),
        )


def _work(query: Running, bound: Bound, planned: Planned) -> Work:
    environment = bound.environment
    schemas = schemas_of(planned.delta, environment)
    oids = {each.name: each.oid for each in bound.tables}
    return Work(
        query.id,
        planned.delta,
        schemas,
        {each.writes: compile_subplan(each, schemas, environment) for each in planned.delta.subplans},
        {each.number: oids[each.table] for each in planned.delta.buffers if isinstance(each, TableBuffer)},
    )


def _answer_table(connection: Connection, query: Running, work: Work) -> Answer:
    buffer = next(each for each in work.plan.buffers if each.number == work.plan.answer)
    assert isinstance(buffer, NodeBuffer)
    stored = tuple(
        StoredColumn(name_of(each.column), _type_name(connection, each.type.oid, each.type.typmod))
        for each in buffer.fields
    )
    return Answer(query.result, stored, tuple(each.name for each in stored))


def _type_name(connection: Connection, oid: int, typmod: int) -> str:
    row = connection.execute("SELECT format_type(%s, %s)", (oid, typmod)).fetchone()
    assert row is not None
    return str(row[0])
