"""A plan as text to read and compare: the same for the same plan, whatever its columns' numbers are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from planner.algebra.conditions import is_true
from planner.algebra.logical import (
    Aggregate,
    DependentJoin,
    DependentPlan,
    Distinct,
    Filter,
    Join,
    LogicalQuery,
    Project,
    Scan,
    Top,
    Union,
    Values,
    fields,
)
from planner.algebra.tree import children, nodes
from planner.explain.parts import PartsText


def text(query: LogicalQuery[DependentPlan]) -> str:
    """The columns of the result and the tree, a line for each node."""
    names = {field.column: field.name for node in nodes(query.plan) for field in fields(node)}
    lines = _Lines(PartsText(names))
    return "\n".join(lines.query(query)) + "\n"


class _Lines:
    def __init__(self, parts: PartsText) -> None:
        self._parts = parts

    def query(self, query: LogicalQuery[DependentPlan]) -> Iterator[str]:
        outputs = (f"{output.name} = {self._parts.column(output.column)}" for output in query.outputs)
        yield f"result {', '.join(outputs)}".rstrip()
        yield from self._plan(query.plan, "")

    def _plan(self, plan: DependentPlan, indent: str) -> Iterator[str]:
        yield indent + self._node(plan)
        for child in children(plan):
            yield from self._plan(child, indent + "  ")

    def _node(self, plan: DependentPlan) -> str:
        match plan:
            case Scan(table=table, alias=alias, columns=columns):
                read = self._parts.fields(column.field for column in columns)
                return f"Scan {table.schema}.{table.name} {alias}: {read}".removesuffix(": ")
            case Values(rows=rows, fields=fields_):
                written = (f"({', '.join(self._parts.text(value) for value in row)})" for row in rows)
                return f"Values ({self._parts.fields(fields_)}): {', '.join(written)}".removesuffix(": ")
            case Filter(condition=condition):
                return f"Filter {self._parts.text(condition)}"
            case Project(columns=columns_):
                return f"Project {self._parts.computed(columns_)}".rstrip()
            case Join() | DependentJoin():
                on = "" if is_true(plan.condition) else f" on {self._parts.text(plan.condition)}"
                return f"{type(plan).__name__} {plan.kind.value}{on}"
            case Aggregate(keys=keys, columns=aggregated):
                by = f" by {self._parts.fields(keys)}" if keys else ""
                return f"Aggregate{by}: {self._parts.aggregated(aggregated)}".removesuffix(": ")
            case Distinct():
                return "Distinct"
            case Union(fields=fields_):
                return f"Union {self._parts.fields(fields_)}"
            case Top(order=order, limit=limit, offset=offset):
                first = "all" if limit is None else str(limit)
                after = f" after {offset}" if offset else ""
                return f"Top {first}{after} by {self._parts.order(order)}"
            case _:
                assert_never(plan)
