"""Tables and columns as PostgreSQL's catalog has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from catalog.types import SqlType


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table or view."""

    name: str
    type: SqlType
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class TableName:
    """A table's schema and name, folded: what the catalog has, not what quotes it."""

    schema: str
    name: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its columns in their order; dropped ones are not among them."""

    name: TableName
    columns: tuple[Column, ...]


Tables: TypeAlias = Mapping[TableName, Table]
