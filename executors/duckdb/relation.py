"""A SELECT and what its columns are: the piece that statements are composed of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dialect.duckdb.rendered import Rendered
from executors.rows import WEIGHT, Schema, name_of


@dataclass(frozen=True, slots=True)
class Relation:
    """A SELECT whose columns are those of the schema, by `name_of`, and then the weight."""

    sql: str
    schema: Schema

    def columns(self, alias: str) -> dict[int, Rendered]:
        """The columns as expressions over the relation under this alias."""
        return {
            column: Rendered(f"{alias}.{name_of(column)}", storage) for column, storage in self.schema.items()
        }


def listed(columns: Iterable[int], alias: str) -> str:
    """The columns as a list that something follows."""
    return "".join(f"{alias}.{name_of(column)}, " for column in columns)


def selection(columns: Mapping[int, Rendered], weight: str, rest: str) -> Relation:
    """A SELECT of these expressions, each under its number, with this weight; `rest` begins with FROM."""
    written = "".join(f"{value.sql} AS {name_of(column)}, " for column, value in columns.items())
    schema = {column: value.storage for column, value in columns.items()}
    return Relation(f"SELECT {written}CAST({weight} AS BIGINT) AS {WEIGHT} {rest}", schema)
