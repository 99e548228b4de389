"""What a table looks like: its columns, and the tables that hold its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from psycopg import Connection

from catalog.errors import FeatureNotSupported
from catalog.signatures import TypeSignature
from catalog.storage import Plain, StoredColumn, stored_column
from catalog.types import SqlType


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column and its number in pg_attribute."""

    number: int
    type: SqlType
    stored: StoredColumn


@dataclass(frozen=True, slots=True)
class Leaf:
    """A table that holds rows; another `file` holds other rows, or the same in other places."""

    oid: int
    name: str
    file: int


@dataclass(frozen=True, slots=True)
class Shape:
    """What a copy relies on: pieces that were copied while it stayed equal fit together."""

    relation: int
    columns: tuple[Attribute, ...]
    leaves: tuple[Leaf, ...]


_COLUMNS: Final = """
    SELECT a.attnum::int, a.attname::text, a.atttypid::int8, a.atttypmod, a.attcollation::int8,
        a.attnum = ANY (gavial.wide_columns(a.attrelid))
    FROM gavial.told_columns(%s) a ORDER BY a.attnum
"""
_TYPES: Final = """
    WITH RECURSIVE used AS (
        SELECT a.atttypid AS oid FROM pg_attribute a
        WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
        UNION
        SELECT made_of FROM used u JOIN pg_type t USING (oid),
            LATERAL (VALUES (t.typbasetype), (t.typelem)) v (made_of) WHERE made_of <> 0
    )
    SELECT t.oid::int8, n.nspname::text, t.typname::text, t.typtype::text, t.typcategory::text,
        t.typispreferred, CASE WHEN t.typcategory = 'A' AND t.typarray = 0 THEN t.typelem ELSE 0 END::int8,
        t.typarray::int8, t.typbasetype::int8, t.typcollation::int8
    FROM used JOIN pg_type t USING (oid) JOIN pg_namespace n ON n.oid = t.typnamespace
"""
_LEAVES: Final = """
    SELECT c.oid::int8, format('%%I.%%I', n.nspname, c.relname), pg_relation_filenode(c.oid)::int8
    FROM gavial.leaves(%s) l JOIN pg_class c ON c.oid = l JOIN pg_namespace n ON n.oid = c.relnamespace
    ORDER BY c.oid
"""


def _stored(name: str, type: SqlType, types: Mapping[int, TypeSignature]) -> StoredColumn:
    """The column as it is stored; a type that cannot be stored is refused only to queries that read it."""
    try:
        return stored_column(name, type, types)
    except FeatureNotSupported:
        return StoredColumn(name, type, Plain.TEXT, kept=False)


def read_shape(connection: Connection, relation: int) -> Shape:
    """The table as it is now, without waiting for whoever alters it; without leaves, there is none."""
    types = {row[0]: TypeSignature(*row) for row in connection.execute(_TYPES, (relation,))}
    columns = []
    for number, name, *described in connection.execute(_COLUMNS, (relation,)):
        type = SqlType(*described)
        columns.append(Attribute(number, type, _stored(name, type, types)))
    leaves = connection.execute(_LEAVES, (relation,)).fetchall()
    return Shape(relation, tuple(columns), tuple(Leaf(*row) for row in leaves))
