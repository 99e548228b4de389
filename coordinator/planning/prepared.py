"""A standing query made ready to be worked: planned, compiled, and how its rows become those of its table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from psycopg import Connection

from catalog.capture.captured import captured_columns
from catalog.capture.store import held_epoch
from catalog.errors import ObjectNotInState
from catalog.postgres.base_types import base_type_name
from catalog.postgres.schema import Table
from catalog.postgres.signatures import Signatures
from catalog.postgres.storage import ListOf, Plain, Shaped
from catalog.queries.running import Running, lock_query, plan_of, save_plan
from coordinator.firing.work import Work, node_buffers
from coordinator.planning.planning import Bound, KeptPlan, Maintainable, bind_view, plan_as_kept, plan_bound
from coordinator.planning.statistics import read_statistics, statistics_from_json, statistics_to_json
from coordinator.publish.publishing import Answer, StoredColumn
from executors.executor import Engine
from executors.rows import name_of
from planner.delta.methods import methods_of
from planner.delta.weighted import NodeBuffer, TableBuffer
from planner.facts.rounded import rounded_outputs
from sources.warehouse.site import CaptureSite

_TIMES: Final = (Plain.TIME, ListOf(Plain.TIME), Shaped(ListOf(Plain.TIME)))


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is done for a query, the table of its answer, and the tables that it reads."""

    work: Work
    answer: Answer
    tables: tuple[Table, ...]


def prepare(
    connection: Connection, site: CaptureSite, engine: Engine, query: Running, signatures: Signatures
) -> Prepared:
    """The query by the plan that is kept, so that its state can be used, or by a new one."""
    bound = bind_view(connection, query.view, signatures)
    kept = _kept_plan(connection, query)
    maintainable = plan_as_kept(engine, bound, kept, methods_of(query.options))
    if maintainable is None:
        has_long_numbers = kept is not None and kept.statistics.long_numbers
        maintainable = _plan_anew(connection, site, engine, query, bound, has_long_numbers)
    return prepare_planned(connection, query.id, query.result, bound, maintainable)


def prepare_planned(
    connection: Connection, query: UUID, relation: int, bound: Bound, maintainable: Maintainable
) -> Prepared:
    """The query by this plan, with its result in this table."""
    work = _work(query, bound, maintainable)
    _require_captured(connection, work)
    return Prepared(work, _answer_table(connection, relation, work, maintainable), bound.tables)


def _require_captured(connection: Connection, work: Work) -> None:
    """Raise an error unless the changes of tables tell all that the plan reads of them."""
    for buffer in work.plan.buffers:
        if not isinstance(buffer, TableBuffer):
            continue
        told = captured_columns(connection, work.tables[buffer.number])
        for field, number in zip(buffer.fields, buffer.attributes, strict=True):
            if number not in told:
                raise ObjectNotInState(
                    f'column "{field.name}" of table "{buffer.table.name}" is not captured'
                )


def _kept_plan(connection: Connection, query: Running) -> KeptPlan | None:
    before = plan_of(connection, query.id)
    return None if before is None else KeptPlan(before.digest, statistics_from_json(before.statistics))


def _plan_anew(
    connection: Connection,
    site: CaptureSite,
    engine: Engine,
    query: Running,
    bound: Bound,
    has_long_numbers: bool,
) -> Maintainable:
    """A plan for what is known now; what another one left is forgotten."""
    statistics = replace(read_statistics(connection, bound.tables), long_numbers=has_long_numbers)
    maintainable = plan_bound(engine, bound, statistics, methods_of(query.options))
    described, pattern = statistics_to_json(statistics), node_buffers(query.id)
    with held_epoch(connection, site.epoch):
        lock_query(connection, query.id)
        files = save_plan(connection, query.id, maintainable.fingerprint, described, pattern)
    site.warehouse.remove(files)
    return maintainable


def _work(query: UUID, bound: Bound, maintainable: Maintainable) -> Work:
    plan = maintainable.planned.delta
    oids = {table.name: table.oid for table in bound.tables}
    return Work(
        query,
        plan,
        maintainable.schemas,
        {buffer.number: oids[buffer.table] for buffer in plan.buffers if isinstance(buffer, TableBuffer)},
        bound.environment,
    )


def _answer_table(connection: Connection, relation: int, work: Work, maintainable: Maintainable) -> Answer:
    buffer = next(buffer for buffer in work.plan.buffers if buffer.number == work.plan.answer)
    assert isinstance(buffer, NodeBuffer)
    schema = work.schemas[buffer.number]
    stored = tuple(
        StoredColumn(
            name_of(field.column),
            base_type_name(connection, field.type.oid, field.type.typmod),
            schema[field.column] in _TIMES,
        )
        for field in buffer.fields
    )
    return Answer(relation, stored, maintainable.outputs, rounded_outputs(maintainable.planned.optimised))
