"""A SELECT and what its columns are: the piece that statements are composed of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dialect.expressions.rendered import Rendered
from executors.rows import WEIGHT, Schema, name_of


@dataclass(frozen=True, slots=True)
class Relation:
    """A SELECT whose columns are those of the schema, by `name_of`, and then the weight.

    `view`: where it selects all rows of a view by the names that its columns have there, the view's name.
    """

    sql: str
    schema: Schema
    view: str | None = None

    def source(self, alias: str) -> str:
        """What stands in a FROM: a SELECT inside costs an engine's analysis more than a name."""
        return f"{self.view} AS {alias}" if self.view else f"({self.sql}) AS {alias}"

    def columns(self, alias: str) -> dict[int, Rendered]:
        """The columns as expressions over the relation under this alias."""
        return {
            column: Rendered(f"{alias}.{name_of(column)}", storage) for column, storage in self.schema.items()
        }


def viewed(view: str, schema: Schema) -> Relation:
    """The columns of a view that has them under these numbers."""
    return Relation(f"SELECT {listed(schema, 'x')}x.{WEIGHT} FROM {view} AS x", schema, view)


def listed(columns: Iterable[int], alias: str) -> str:
    """The columns as a list that something follows."""
    return "".join(f"{alias}.{name_of(column)}, " for column in columns)


def selection(columns: Mapping[int, Rendered], weight: str, rest: str, hint: str = "") -> Relation:
    """A SELECT of these expressions, each under its number, with this weight; `rest` begins with FROM."""
    written = "".join(f"{value.sql} AS {name_of(column)}, " for column, value in columns.items())
    schema = {column: value.storage for column, value in columns.items()}
    return Relation(f"SELECT {hint}{written}{weight} AS {WEIGHT} {rest}", schema)
