"""Tables and columns as PostgreSQL's catalog has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from catalog.postgres.types import SqlType


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table or view; `attribute` is its number in pg_attribute."""

    name: str
    type: SqlType
    nullable: bool = True
    attribute: int = 0


@dataclass(frozen=True, slots=True)
class TableName:
    """A table's schema and name, folded: what the catalog has, not what quotes it."""

    schema: str
    name: str


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """Columns that repeat a key of another table in every row where none is NULL: validated and enforced."""

    columns: tuple[str, ...]
    parent: TableName
    parent_columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its columns in their order; dropped ones are not among them.

    `keys` are the columns of the primary key and of unique indexes that are immediate, valid, without
    condition or expression; a key whose columns may be NULL allows several rows of NULLs. `generated` are
    the columns that no change tells, each with the expression over the others that computes it, if all
    partitions have the same one; no key is made of them.
    """

    name: TableName
    columns: tuple[Column, ...]
    keys: tuple[tuple[str, ...], ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    oid: int = 0
    generated: tuple[tuple[str, str | None], ...] = ()


Tables: TypeAlias = Mapping[TableName, Table]


@dataclass(frozen=True, slots=True)
class View:
    """A view with its SELECT as PostgreSQL writes it, every name qualified."""

    name: TableName
    text: str
    columns: tuple[Column, ...]


Views: TypeAlias = Mapping[TableName, View]
