"""Constructs that no plan is made of, by name, each with a way out if there is one."""

from __future__ import annotations

from enum import Enum

from catalog.errors import NotMaintainable
from catalog.postgres.type_names import type_name
from catalog.postgres.types import SqlType


class Refused(Enum):
    """A construct that is refused: its name in the message, and a hint."""

    ALL_OF_SET = "INTERSECT ALL or EXCEPT ALL", "Use INTERSECT or EXCEPT, or count the rows of each side."
    ARRAY_OF_ARRAYS = "an array of arrays", "Use an array of one dimension for each of them."
    ARRAY_SUBQUERY = "ARRAY of a subquery", "Use array_agg with GROUP BY."
    LIMIT = "a LIMIT or OFFSET that is not a constant", "Write the number itself."
    LIMIT_PER_ROW = (
        "a LIMIT above 1 in a subquery that depends on the rows around it",
        "Use LIMIT 1, or an aggregate.",
    )
    NO_EQUALITY = (
        "a subquery that depends on a column whose equal values may differ",
        "Let it depend on another column, or on a cast of this one to text.",
    )
    NO_ORDER = (
        "the first of several rows by values of type %s",
        "Order by numbers, texts, dates or times, or by a conversion to one of these.",
    )
    ON_BOTH_SIDES = (
        "an outer join whose condition has a subquery that depends on both sides",
        "Move the subquery to WHERE, or write it as a join.",
    )
    ROW = "a row as a value", "Name its fields one by one."
    ROW_ORDER = (
        "a comparison of rows with values of type %s",
        "Compare the columns one by one.",
    )
    SUBSCRIPT = (
        "an element of an array by its index",
        "Keep the element in a column, for example a stored generated one, and read that.",
    )
    VALUE_OF_SESSION = "a value that depends on the session or the clock", "Write the value itself."
    VARIADIC = "an argument marked VARIADIC", "Write the arguments one by one."
    WINDOW = "a window function", "Aggregate in a subquery and join with it."

    @property
    def error(self) -> NotMaintainable:
        """The error that refuses it, with a hint."""
        what, hint = self.value
        return NotMaintainable(what, hint=hint)

    def error_for(self, type: SqlType) -> NotMaintainable:
        """The error that refuses it for values of this type."""
        what, hint = self.value
        return NotMaintainable(what % type_name({}, type.oid), hint=hint)
