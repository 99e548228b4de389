"""Columns, aggregates and orders in the text of a plan."""

from __future__ import annotations

from collections.abc import Iterable

from planner.algebra.logical import AggregateCall, Aggregated, Computed, Field, Order
from planner.explain.scalar_text import ScalarText


class PartsText(ScalarText):
    """Writes the parts of nodes; columns are numbered as they come."""

    def fields(self, fields_: Iterable[Field]) -> str:
        """The names of columns, with commas between."""
        return ", ".join(self.column(field.column) for field in fields_)

    def computed(self, columns: Iterable[Computed]) -> str:
        """Columns, each with its expression unless it passes unchanged."""
        return ", ".join(map(self._computed, columns))

    def aggregated(self, columns: Iterable[Aggregated]) -> str:
        """Columns with the aggregates that give them."""
        return ", ".join(
            f"{self.column(column.field.column)} = {self._aggregate(column.call)}" for column in columns
        )

    def order(self, order: Iterable[Order]) -> str:
        """The keys of an order, with commas between."""
        return ", ".join(
            self.text(key.value)
            + (" desc" if key.descending else "")
            + (" nulls first" if key.nulls_first else " nulls last")
            for key in order
        )

    def _computed(self, computed: Computed) -> str:
        name, value = self.column(computed.field.column), self.text(computed.value)
        return name if name == value else f"{name} = {value}"

    def _aggregate(self, call: AggregateCall) -> str:
        values = ", ".join(self.text(argument) for argument in call.arguments) or "*"
        distinct = "distinct " if call.distinct else ""
        order = f" order by {self.order(call.order)}" if call.order else ""
        condition = "" if call.condition is None else f" where {self.text(call.condition)}"
        return f"{call.name}({distinct}{values}{order}{condition})"
