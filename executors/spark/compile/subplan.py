"""A subplan as one statement of Spark SQL: every node a SELECT with a column `weight`, every step a WITH."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from catalog.postgres.storage import NO_DIGITS, Storage
from catalog.postgres.types import NUMERIC
from dialect.expressions.environment import DEFAULT, Environment
from dialect.expressions.storages import common_storage, unsupported
from dialect.spark.numbers.written import converted
from executors.rows import WEIGHT, Schema
from executors.spark.compile.nodes import Compiler
from executors.sql.nodes import step_view
from executors.sql.relation import selection
from planner.algebra.logical import Field
from planner.delta.weighted import DeltaPlan, Moment, NodeBuffer, Subplan, TableBuffer
from planner.firing.driven import is_driven

# A subplan's own rows are among what it reads: the widths of its columns grow until nothing changes.
_MOST_ROUNDS: Final = 12


def schemas_of(plan: DeltaPlan, environment: Environment = DEFAULT) -> dict[int, Schema]:
    """How every buffer's columns are stored: a table's by their types, a node's by what computes them."""
    schemas: dict[int, Schema] = {
        buffer.number: {field.column: environment.storage(field.type) for field in buffer.fields}
        for buffer in plan.buffers
        if isinstance(buffer, TableBuffer)
    }
    nodes = {buffer.number: buffer for buffer in plan.buffers if isinstance(buffer, NodeBuffer)}
    for subplan in plan.subplans:
        schemas[subplan.writes] = _settled(subplan, nodes[subplan.writes], schemas, environment)
    return schemas


@dataclass(frozen=True, slots=True)
class Statement:
    """A subplan's SQL and the views that it reads, by `view_of`.

    `cautious` is the same without what needs memory in proportion to what changed, where it differs.
    """

    sql: str
    reads: tuple[tuple[int, Moment], ...]
    cautious: str | None = None


def compile_subplan(
    subplan: Subplan,
    schemas: Mapping[int, Schema],
    environment: Environment = DEFAULT,
    small_change: bool = False,
) -> Statement:
    """The statement whose rows are the change of the buffer that is written, stored by its schema."""
    statement = _statement(subplan, schemas, _compiled(subplan, schemas, environment))
    if not small_change:
        return statement
    hinted = _statement(subplan, schemas, _compiled(subplan, schemas, environment, {}))
    return replace(hinted, cautious=statement.sql) if hinted != statement else statement


def _statement(subplan: Subplan, schemas: Mapping[int, Schema], compiler: Compiler) -> Statement:
    steps = compiler.steps
    last = subplan.steps[-1].number
    names = ", ".join(f"{step_view(number)} AS ({relation.sql})" for number, relation in steps.items())
    outcome = steps[last].columns("outcome")
    target = schemas[subplan.writes]
    columns = {
        column: converted(value, target[column])
        for column, value in zip(target, outcome.values(), strict=True)
    }
    written = selection(columns, f"outcome.{WEIGHT}", f"FROM {step_view(last)} AS outcome").sql
    reads = tuple(sorted(compiler.reads, key=lambda leaf: (leaf[0], leaf[1].value)))
    return Statement(f"WITH {names} {written}", reads)


def _compiled(
    subplan: Subplan,
    schemas: Mapping[int, Schema],
    environment: Environment,
    driven: dict[int, bool] | None = None,
) -> Compiler:
    compiler = Compiler(schemas, environment, {}, set(), driven)
    for step in subplan.steps:
        compiler.steps[step.number] = compiler.compile(step.outcome)
        if driven is not None:
            driven[step.number] = is_driven(step.outcome, driven)
    return compiler


def _settled(
    subplan: Subplan, buffer: NodeBuffer, schemas: Mapping[int, Schema], environment: Environment
) -> Schema:
    storages = {field.column: _least(field, environment) for field in buffer.fields}
    for _ in range(_MOST_ROUNDS):
        compiler = _compiled(subplan, {**schemas, subplan.writes: storages}, environment)
        outcome = compiler.steps[subplan.steps[-1].number].schema.values()
        wider: dict[int, Storage] = {
            column: common_storage((storage, computed))
            for (column, storage), computed in zip(storages.items(), outcome, strict=True)
        }
        if wider == storages:
            return storages
        storages = wider
    raise unsupported(f"a column of {buffer.what} that needs more digits at every change")


def _least(field: Field, environment: Environment) -> Storage:
    return NO_DIGITS if field.type.oid == NUMERIC else environment.storage(field.type)
