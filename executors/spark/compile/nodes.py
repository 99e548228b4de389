"""Each node of the algebra of weighted bags as a SELECT of Spark, where that differs from other engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from catalog.postgres.storage import Storage
from dialect.expressions.scalar import Scalar
from dialect.expressions.storages import has_forms
from dialect.spark.comparisons import compared
from dialect.spark.equality import identity, is_identified
from dialect.spark.expressions import render
from dialect.spark.numbers.written import converted
from dialect.spark.order import sort_key
from dialect.spark.rendered import Rendered, cast
from executors.rows import WEIGHT
from executors.spark.compile.groups import grouped, tallied
from executors.sql.nodes import NodeCompiler
from executors.sql.relation import Relation, selection
from planner.algebra.logical import Aggregated, Field, Order
from planner.delta.weighted import Tallied, Weighted
from planner.firing.driven import is_driven


@dataclass(frozen=True, slots=True)
class Compiler(NodeCompiler):
    """Compiles for Spark.

    `driven` says of each step whether it is about as large as what changed; None where that is not small.
    """

    SEMI: ClassVar = "LEFT SEMI"
    ANTI: ClassVar = "LEFT ANTI"

    driven: dict[int, bool] | None = None

    def _render(self, scalar: Scalar, columns: Mapping[int, Rendered]) -> Rendered:
        return render(scalar, columns, self.environment)

    def _converted(self, value: Rendered, storage: Storage) -> Rendered:
        return converted(value, storage)

    def _same(self, left: Rendered, right: Rendered) -> str:
        return compared("<=>", left, right)

    def _null(self, storage: Storage) -> Rendered:
        return cast("NULL", storage)

    def _number(self, number: int) -> str:
        return f"{number}L"

    def _total(self, window: str = "") -> str:
        return f"sum(x.{WEIGHT}){window}"

    def _consolidated(self, child: Relation) -> Relation:
        columns = child.columns("x")
        keys = ", ".join(map(identity, columns.values()))
        by = f" GROUP BY {keys}" if keys else ""
        values = {
            column: value if is_identified(value.storage) else replace(value, sql=f"any_value({value.sql})")
            for column, value in columns.items()
        }
        return selection(values, self._total(), f"FROM {child.source('x')}{by} HAVING {self._total()} <> 0")

    def _tallied(self, child: Relation, keys: Sequence[Field], columns: Sequence[Tallied]) -> Relation:
        return tallied(child, keys, columns, self.environment)

    def _grouped(self, child: Relation, keys: Sequence[Field], columns: Sequence[Aggregated]) -> Relation:
        return grouped(child, keys, columns, self.environment)

    def _hint(self, small: Weighted, large: Weighted, alias: str) -> str:
        """Spark takes what a join gives for as large as both sides multiplied, and would sort the state."""
        if self.driven is None or not is_driven(small, self.driven) or is_driven(large, self.driven):
            return ""
        return f"/*+ BROADCAST({alias}) */ "

    def _ordered(self, keys: Sequence[Order], columns: Mapping[int, Rendered]) -> Sequence[str]:
        """Which of equal values comes first does not hang on how Spark reads them."""
        forms = [identity(value) for value in columns.values() if has_forms(value.storage)]
        return [*(self._order(key, columns) for key in keys), *forms]

    def _order(self, order: Order, columns: Mapping[int, Rendered]) -> str:
        self.environment.check_order(order.value.type.collation, "an order of texts")
        if not order.breaks_ties:
            self.environment.check_sortable(order.value.type)
        value = sort_key(self._render(order.value, columns))
        direction = "DESC" if order.descending else "ASC"
        return f"{value} {direction} NULLS {'FIRST' if order.nulls_first else 'LAST'}"
