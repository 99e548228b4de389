"""A plan as text to read and compare: the same for the same plan, whatever its columns' numbers are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from planner.conditions import is_true
from planner.logical import (
    Aggregate,
    AggregateCall,
    Computed,
    DependentJoin,
    Distinct,
    Field,
    Filter,
    Join,
    LogicalQuery,
    Order,
    Plan,
    Project,
    Scan,
    Top,
    Union,
    Values,
    fields,
)
from planner.text_scalar import ScalarText
from planner.tree import children, nodes


def text(query: LogicalQuery) -> str:
    """The answer's columns and the tree, a line for each node."""
    names = {each.column: each.name for node in nodes(query.plan) for each in fields(node)}
    lines = _Lines(ScalarText(names))
    return "\n".join(lines.query(query)) + "\n"


class _Lines:
    def __init__(self, scalars: ScalarText) -> None:
        self._scalars = scalars

    def query(self, query: LogicalQuery) -> Iterator[str]:
        outputs = (f"{each.name} = {self._scalars.column(each.column)}" for each in query.outputs)
        yield f"answer {', '.join(outputs)}".rstrip()
        yield from self._plan(query.plan, "")

    def _plan(self, plan: Plan, indent: str) -> Iterator[str]:
        yield indent + self._node(plan)
        for child in children(plan):
            yield from self._plan(child, indent + "  ")

    def _node(self, plan: Plan) -> str:
        match plan:
            case Scan(table=table, alias=alias, columns=columns):
                return f"Scan {table.schema}.{table.name} {alias}: {self._fields(c.field for c in columns)}"
            case Values(rows=rows, fields=these):
                written = (f"({', '.join(self._scalars.text(value) for value in row)})" for row in rows)
                return f"Values ({self._fields(these)}): {', '.join(written)}"
            case Filter(condition=condition):
                return f"Filter {self._scalars.text(condition)}"
            case Project(columns=columns_):
                return f"Project {', '.join(map(self._computed, columns_))}".rstrip()
            case Join() | DependentJoin():
                on = "" if is_true(plan.condition) else f" on {self._scalars.text(plan.condition)}"
                return f"{type(plan).__name__} {plan.kind.value}{on}"
            case Aggregate(keys=keys, columns=aggregated):
                by = f" by {self._fields(keys)}" if keys else ""
                calls = (f"{self._fields((each.field,))} = {self._call(each.call)}" for each in aggregated)
                return f"Aggregate{by}: {', '.join(calls)}".removesuffix(": ")
            case Distinct():
                return "Distinct"
            case Union(fields=these):
                return f"Union {self._fields(these)}"
            case Top(order=order, limit=limit, offset=offset):
                first = "all" if limit is None else str(limit)
                after = f" after {offset}" if offset else ""
                return f"Top {first}{after} by {self._order(order)}"
            case _:
                assert_never(plan)

    def _fields(self, these: Iterable[Field]) -> str:
        return ", ".join(self._scalars.column(each.column) for each in these)

    def _computed(self, computed: Computed) -> str:
        name, value = self._scalars.column(computed.field.column), self._scalars.text(computed.value)
        return name if name == value else f"{name} = {value}"

    def _call(self, call: AggregateCall) -> str:
        values = ", ".join(self._scalars.text(each) for each in call.arguments) or "*"
        distinct = "distinct " if call.distinct else ""
        order = f" order by {self._order(call.order)}" if call.order else ""
        condition = "" if call.condition is None else f" where {self._scalars.text(call.condition)}"
        return f"{call.name}({distinct}{values}{order}{condition})"

    def _order(self, order: tuple[Order, ...]) -> str:
        return ", ".join(
            self._scalars.text(each.value)
            + (" desc" if each.descending else "")
            + (" nulls first" if each.nulls_first else " nulls last")
            for each in order
        )
