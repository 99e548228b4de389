"""Prepares a standing query: its plan, compiled, and how rows are computed for its table."""

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
from coordinator.publish.computed_rows import StoredColumn
from coordinator.publish.result_table import ResultTable
from executors.executor import Engine
from executors.rows import name_of
from planner.delta.methods import methods_of
from planner.delta.weighted import NodeBuffer, TableBuffer
from planner.facts.rounded import tolerances
from sources.warehouse.site import CaptureSite

_TIMES: Final = (Plain.TIME, ListOf(Plain.TIME), Shaped(ListOf(Plain.TIME)))


@dataclass(frozen=True, slots=True)
class Prepared:
    """The plan of a query, the table of its result, and the tables that it reads."""

    work: Work
    result_table: ResultTable
    tables: tuple[Table, ...]


def prepare(
    connection: Connection, site: CaptureSite, engine: Engine, query: Running, signatures: Signatures
) -> Prepared:
    """The query with the plan that is kept, so that its state can be used, or with a new one."""
    bound = bind_view(connection, query.view, signatures)
    kept = _kept_plan(connection, query)
    maintainable = plan_as_kept(engine, bound, kept, methods_of(query.options))
    if maintainable is None:
        has_long_numbers = kept is not None and kept.statistics.long_numbers
        maintainable = _new_plan(connection, site, engine, query, bound, has_long_numbers)
    return prepare_planned(connection, query.id, query.result, bound, maintainable)


def prepare_planned(
    connection: Connection, query: UUID, relation: int, bound: Bound, maintainable: Maintainable
) -> Prepared:
    """The query with this plan and this table of its result."""
    work = _work(query, bound, maintainable)
    _require_captured(connection, work)
    return Prepared(work, _result_table(connection, relation, work, maintainable), bound.tables)


def _require_captured(connection: Connection, work: Work) -> None:
    """Raise an error unless the captured changes have all columns that the plan reads."""
    for buffer in work.plan.buffers:
        if not isinstance(buffer, TableBuffer):
            continue
        captured = captured_columns(connection, work.tables[buffer.number])
        for field, number in zip(buffer.fields, buffer.attributes, strict=True):
            if number not in captured:
                raise ObjectNotInState(
                    f'column "{field.name}" of table "{buffer.table.name}" is not captured'
                )


def _kept_plan(connection: Connection, query: Running) -> KeptPlan | None:
    before = plan_of(connection, query.id)
    return None if before is None else KeptPlan(before.digest, statistics_from_json(before.statistics))


def _new_plan(
    connection: Connection,
    site: CaptureSite,
    engine: Engine,
    query: Running,
    bound: Bound,
    has_long_numbers: bool,
) -> Maintainable:
    """A plan with the statistics of now; what an earlier plan has stored is dropped."""
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


def _result_table(
    connection: Connection, relation: int, work: Work, maintainable: Maintainable
) -> ResultTable:
    buffer = next(buffer for buffer in work.plan.buffers if buffer.number == work.plan.result)
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
    return ResultTable(relation, stored, maintainable.outputs, tolerances(maintainable.planned.optimised))
