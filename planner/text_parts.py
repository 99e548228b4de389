"""What stands in a line of a plan's text beside expressions: columns, aggregates, orders."""

from __future__ import annotations

from collections.abc import Iterable

from planner.logical import AggregateCall, Aggregated, Computed, Field, Order
from planner.text_scalar import ScalarText


class PartsText(ScalarText):
    """Writes the parts of nodes; columns are numbered as they come."""

    def fields(self, these: Iterable[Field]) -> str:
        """Columns."""
        return ", ".join(self.column(each.column) for each in these)

    def computed(self, these: Iterable[Computed]) -> str:
        """Columns with what they are computed from, if not from themselves."""
        return ", ".join(map(self._computed, these))

    def aggregated(self, these: Iterable[Aggregated]) -> str:
        """Columns with the aggregates that give them."""
        return ", ".join(f"{self.column(each.field.column)} = {self._aggregate(each.call)}" for each in these)

    def order(self, order: Iterable[Order]) -> str:
        """An order."""
        return ", ".join(
            self.text(each.value)
            + (" desc" if each.descending else "")
            + (" nulls first" if each.nulls_first else " nulls last")
            for each in order
        )

    def _computed(self, computed: Computed) -> str:
        name, value = self.column(computed.field.column), self.text(computed.value)
        return name if name == value else f"{name} = {value}"

    def _aggregate(self, call: AggregateCall) -> str:
        values = ", ".join(self.text(each) for each in call.arguments) or "*"
        distinct = "distinct " if call.distinct else ""
        order = f" order by {self.order(call.order)}" if call.order else ""
        condition = "" if call.condition is None else f" where {self.text(call.condition)}"
        return f"{call.name}({distinct}{values}{order}{condition})"
