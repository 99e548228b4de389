"""What a table looks like: its columns, and the tables that hold its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from psycopg import Connection

from catalog.errors import FeatureNotSupported
from catalog.postgres.signatures import TypeSignature
from catalog.postgres.signatures_reader import COLUMNS_OF_TYPE
from catalog.postgres.storage import Plain, StoredColumn, stored_column
from catalog.postgres.types import SqlType
from catalog.rows import rows_of


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
    SELECT a.attnum::int AS number, a.attname::text AS name, a.atttypid::int8 AS oid, a.atttypmod AS typmod,
        a.attcollation::int8 AS collation, a.attnum = ANY (gavial.wide_columns(a.attrelid)) AS wide
    FROM gavial.captured_columns(%s) a ORDER BY a.attnum
"""
_TYPES: Final = f"""
    WITH RECURSIVE used AS (
        SELECT a.atttypid AS oid FROM pg_attribute a
        WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
        UNION
        SELECT made_of FROM used u JOIN pg_type t USING (oid),
            LATERAL (VALUES (t.typbasetype), (t.typelem)) v (made_of) WHERE made_of <> 0
    )
    SELECT {COLUMNS_OF_TYPE}
    FROM used JOIN pg_type t USING (oid) JOIN pg_namespace n ON n.oid = t.typnamespace
"""
_LEAVES: Final = """
    SELECT c.oid::int8, format('%%I.%%I', n.nspname, c.relname) AS name,
        pg_relation_filenode(c.oid)::int8 AS file
    FROM gavial.leaves(%s) l JOIN pg_class c ON c.oid = l JOIN pg_namespace n ON n.oid = c.relnamespace
    ORDER BY c.oid
"""


def _stored(name: str, type: SqlType, types: Mapping[int, TypeSignature]) -> StoredColumn:
    """The column as it is stored; a type that cannot be stored is refused only to queries that read it."""
    try:
        return stored_column(name, type, types)
    except FeatureNotSupported:
        return StoredColumn(name, type, Plain.TEXT, kept=False)


def _attribute(types: Mapping[int, TypeSignature], *, number: int, name: str, **described: Any) -> Attribute:
    type = SqlType(**described)
    return Attribute(number, type, _stored(name, type, types))


def read_shape(connection: Connection, relation: int) -> Shape:
    """The table as it is now, without waiting for whoever alters it; without leaves, there is none."""
    signatures = rows_of(connection, TypeSignature, _TYPES, (relation,))
    types = {signature.oid: signature for signature in signatures}
    columns = rows_of(connection, partial(_attribute, types), _COLUMNS, (relation,))
    return Shape(relation, columns, rows_of(connection, Leaf, _LEAVES, (relation,)))
