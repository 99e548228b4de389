"""A standing query made ready to be worked: planned, compiled, and how its rows become those of its table."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from psycopg import Connection

from catalog.running import Running, plan_of, save_plan
from catalog.schema import Table
from catalog.signatures import Signatures
from catalog.storage import FREE_NUMERIC, Storage
from catalog.store import hold_epoch
from catalog.types import NO_TYPMOD, NUMERIC
from coordinator.planning import Bound, bind_view, digest_of, plan_bound
from coordinator.publishing import Answer, StoredColumn
from coordinator.statistics import read_statistics, statistics_from_json, statistics_to_json
from coordinator.work import Work, node_buffers
from dialect.postgres_scalar import write
from executors.spark.compile import compile_subplan, schemas_of
from executors.spark.relation import name_of
from planner.delta_method import methods_of
from planner.logical import Field
from planner.plan import Planned
from planner.weighted import NodeBuffer, TableBuffer
from sources.place import Place


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is done for a query, the table of its answer, and the tables that it reads."""

    work: Work
    answer: Answer
    tables: tuple[Table, ...]


def prepare(connection: Connection, place: Place, query: Running, signatures: Signatures) -> Prepared:
    """Plan it as it was planned before, so that what it kept can be used; anew where that cannot be."""
    bound = bind_view(connection, query.view, signatures)
    planned = _planned_before(connection, query, bound) or _plan_anew(connection, place, query, bound)
    return prepare_planned(connection, query.id, query.result, bound, planned)


def prepare_planned(
    connection: Connection, query: UUID, relation: int, bound: Bound, planned: Planned
) -> Prepared:
    """The same, by this plan and for this table."""
    work = _work(query, bound, planned)
    return Prepared(work, _answer_table(connection, relation, work, planned), bound.tables)


def _planned_before(connection: Connection, query: Running, bound: Bound) -> Planned | None:
    """The plan that it has, if it would be planned so again."""
    before = plan_of(connection, query.id)
    if before is None:
        return None
    planned = plan_bound(bound, statistics_from_json(before[1]), methods_of(query.options))
    return planned if digest_of(planned) == before[0] else None


def _plan_anew(connection: Connection, place: Place, query: Running, bound: Bound) -> Planned:
    """A plan for what is known now; what another one left is forgotten."""
    statistics = read_statistics(connection, bound.tables)
    planned = plan_bound(bound, statistics, methods_of(query.options))
    described, pattern = statistics_to_json(statistics), node_buffers(query.id)
    with connection.transaction():
        hold_epoch(connection, place.epoch)
        files = save_plan(connection, query.id, digest_of(planned), described, pattern)
    place.warehouse.remove(files)
    return planned


def _work(query: UUID, bound: Bound, planned: Planned) -> Work:
    environment = bound.environment
    schemas = schemas_of(planned.delta, environment)
    oids = {each.name: each.oid for each in bound.tables}
    return Work(
        query,
        planned.delta,
        schemas,
        {each.writes: compile_subplan(each, schemas, environment) for each in planned.delta.subplans},
        {each.number: oids[each.table] for each in planned.delta.buffers if isinstance(each, TableBuffer)},
        environment,
    )


def _answer_table(connection: Connection, relation: int, work: Work, planned: Planned) -> Answer:
    buffer = next(each for each in work.plan.buffers if each.number == work.plan.answer)
    assert isinstance(buffer, NodeBuffer)
    stored = tuple(
        StoredColumn(name_of(each.column), _type_name(connection, each.type.oid, each.type.typmod))
        for each in buffer.fields
    )
    schema = work.schemas[buffer.number]
    names = {each.column: _read(each, schema[each.column]) for each in buffer.fields}
    return Answer(relation, stored, tuple(write(each, names) for each in planned.values))


def _read(field: Field, storage: Storage) -> str:
    """A stored column as PostgreSQL knows it: a number of any scale has no more digits than it needs."""
    name = name_of(field.column)
    free = field.type.oid == NUMERIC and field.type.typmod == NO_TYPMOD and storage == FREE_NUMERIC
    return f"pg_catalog.trim_scale({name})" if free else name


def _type_name(connection: Connection, oid: int, typmod: int) -> str:
    row = connection.execute("SELECT format_type(%s, %s)", (oid, typmod)).fetchone()
    assert row is not None
    return str(row[0])
