"""What names mean at one place of a query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from catalog.errors import Error, FeatureNotSupported
from dialect.bound.expression import Column, Expression
from dialect.bound.query import OutputColumn

_OTHER_NAMES: Final = (
    "Give the tables and subqueries of the query aliases of their own, and their columns, too."
)


@dataclass(frozen=True, slots=True)
class Source:
    """A FROM item's alias and columns; `table` and `schema` for one without an alias of its own.

    `refused` has the columns that cannot be read, by number, each with the reason.
    """

    number: int
    alias: str
    schema: str | None
    columns: tuple[OutputColumn, ...]
    refused: Mapping[int, Error] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CommonName:
    """A WITH query as names see it: its number among those of its level."""

    number: int
    columns: tuple[OutputColumn, ...]


@dataclass(frozen=True, slots=True)
class Scope:
    """One query's sources, WITH queries and merged USING columns, inside those of the queries around it."""

    sources: tuple[Source, ...] = ()
    common_tables: Mapping[str, CommonName] = field(default_factory=dict)
    merged: Mapping[str, Expression] = field(default_factory=dict)
    outer: Scope | None = None

    def outward(self) -> Iterator[tuple[int, Scope]]:
        """This scope and those around it, with their levels."""
        scope: Scope | None = self
        level = 0
        while scope is not None:
            yield level, scope
            scope, level = scope.outer, level + 1

    def column(self, name: str, table: str | None, schema: str | None) -> Expression:
        """The column that a name means: the innermost query that has it."""
        for level, scope in self.outward():
            if table is None and name in scope.merged:
                if level:
                    raise FeatureNotSupported(
                        f'the merged column "{name}" is used in a subquery',
                        hint="Join with ON instead of USING, and name the column of one of the tables.",
                    )
                return scope.merged[name]
            columns = scope._columns(level, name, table, schema)
            if len(columns) > 1:
                raise FeatureNotSupported(f'column reference "{name}" is ambiguous', hint=_OTHER_NAMES)
            if columns:
                for source in scope.sources:
                    if source.number == columns[0].source and columns[0].column in source.refused:
                        raise source.refused[columns[0].column]
                return columns[0]
        raise FeatureNotSupported(
            f'column "{_dotted(schema, table, name)}" is not in any source of the query', hint=_OTHER_NAMES
        )

    def common_table(self, name: str) -> tuple[int, CommonName] | None:
        """The WITH query of this name and its level, if there is one."""
        for level, scope in self.outward():
            if name in scope.common_tables:
                return level, scope.common_tables[name]
        return None

    def _columns(self, level: int, name: str, table: str | None, schema: str | None) -> list[Column]:
        return [
            Column(level, source.number, number, name, column.type)
            for source in self.sources
            if (table is None or source.alias == table) and (schema is None or source.schema == schema)
            for number, column in enumerate(source.columns)
            if column.name == name
        ]


def _dotted(*parts: str | None) -> str:
    return ".".join(part for part in parts if part is not None)
