"""The plan of a standing query as it is stored, and its offsets."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias
from uuid import UUID

from catalog.postgres.storage import Storage
from catalog.queries.running import Offset
from dialect.expressions.environment import DEFAULT, Environment
from executors.executor import AddedColumn
from executors.rows import Schema, name_of
from planner.delta.weighted import DeltaPlan, NodeBuffer, TableBuffer
from sources.warehouse.warehouse import table_buffer

PUBLISHED: Final = -1
"""Stands for the publication in offsets: up to where it has read; for tables, where the period began."""

Offsets: TypeAlias = Mapping[tuple[int, str], int]
"""How far each subplan has read each buffer; under its own buffer, the run that wrote last."""

NOTHING_READ: Final[Offsets] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Work:
    """The plan of a query, and how its buffers are stored.

    `tables` are the oids of the tables by the numbers of their buffers.
    """

    query: UUID
    plan: DeltaPlan
    schemas: Mapping[int, Schema]
    tables: Mapping[int, int]
    environment: Environment = DEFAULT

    def name(self, buffer: int) -> str:
        """The name of a buffer in the warehouse."""
        return table_buffer(self.tables[buffer]) if buffer in self.tables else f"node-{self.query}-{buffer}"

    def columns(self, buffer: int) -> Mapping[int, str]:
        """The names of the plan's columns in a buffer's files."""
        match next(candidate for candidate in self.plan.buffers if candidate.number == buffer):
            case TableBuffer(fields=fields, attributes=attributes):
                pairs = zip(fields, attributes, strict=True)
                return {field.column: f"a{attribute}" for field, attribute in pairs}
            case NodeBuffer(fields=fields):
                return {field.column: name_of(field.column) for field in fields}

    def label(self, buffer: int, column: int) -> str:
        """The name that users know a column of a table by."""
        table = next(candidate for candidate in self.plan.buffers if candidate.number == buffer)
        assert isinstance(table, TableBuffer)
        field = next(field for field in table.fields if field.column == column)
        return f"{table.table.name}.{field.name}"

    def attribute(self, buffer: int, column: int) -> int:
        """The attnum of a column of a table."""
        table = next(candidate for candidate in self.plan.buffers if candidate.number == buffer)
        assert isinstance(table, TableBuffer)
        return next(
            number
            for field, number in zip(table.fields, table.attributes, strict=True)
            if field.column == column
        )

    def stored_as(self, buffer: int, storages: Collection[Storage]) -> tuple[int, ...]:
        """The attnums of a table's columns that are stored in one of these ways."""
        table = next(candidate for candidate in self.plan.buffers if candidate.number == buffer)
        assert isinstance(table, TableBuffer)
        return tuple(
            number
            for field, number in zip(table.fields, table.attributes, strict=True)
            if self.schemas[buffer][field.column] in storages
        )

    def added(self, buffer: int, values: Mapping[int, str]) -> tuple[AddedColumn, ...]:
        """The columns that a table's files lack, with their values by number."""
        table = next(candidate for candidate in self.plan.buffers if candidate.number == buffer)
        assert isinstance(table, TableBuffer), "what a query computed has the columns of its plan"
        return tuple(
            AddedColumn(f"a{number}", values[number], field.type, self.schemas[buffer][field.column])
            for field, number in zip(table.fields, table.attributes, strict=True)
            if number in values
        )


def node_buffers(query: UUID) -> str:
    """The pattern of the names of a query's own buffers."""
    return f"node-{query}-%"


def offsets_from(rows: Iterable[Offset]) -> Offsets:
    """Offsets from the rows that the catalog keeps."""
    return {(offset.subplan, offset.buffer): offset.position for offset in rows}


def offsets_to(offsets: Offsets) -> tuple[Offset, ...]:
    """The rows that the catalog keeps of offsets."""
    return tuple(Offset(subplan, buffer, position) for (subplan, buffer), position in offsets.items())
