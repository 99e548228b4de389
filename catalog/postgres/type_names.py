"""What types are called in messages: as PostgreSQL's own messages call them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from catalog.postgres.signatures import TypeSignature
from catalog.postgres.types import (
    BOOL,
    BPCHAR,
    BYTEA,
    DATE,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    INTERVAL,
    JSON,
    JSONB,
    NAME,
    NAMES,
    NUMERIC,
    NUMERIC_ARRAY,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    TIMETZ,
    UNKNOWN,
    UUID,
    VARCHAR,
)

SQL_NAMES: Final = {
    "bool": "boolean",
    "bpchar": "character",
    "float4": "real",
    "float8": "double precision",
    "int2": "smallint",
    "int4": "integer",
    "int8": "bigint",
    "time": "time without time zone",
    "timestamp": "timestamp without time zone",
    "timestamptz": "timestamp with time zone",
    "timetz": "time with time zone",
    "varbit": "bit varying",
    "varchar": "character varying",
}
"""The names in pg_type that are written otherwise."""

_ELEMENTS: Final = {199: JSON, 1021: FLOAT4, 1022: FLOAT8, 1187: INTERVAL, 1270: TIMETZ, 3807: JSONB} | {
    1000: BOOL, 1001: BYTEA, 1003: NAME, 1005: INT2, 1007: INT4, 1009: TEXT, 1014: BPCHAR, 1015: VARCHAR,
    1016: INT8, 1115: TIMESTAMP, 1182: DATE, 1183: TIME, 1185: TIMESTAMPTZ, 2951: UUID,
    NUMERIC_ARRAY: NUMERIC,
}  # fmt: skip
"""The arrays that are the same on every server, each with its elements' type."""


def type_name(types: Mapping[int, TypeSignature], oid: int) -> str:
    """How a type is called; one that nothing is known of is another type."""
    signature = types.get(oid)
    if signature is None and oid in _ELEMENTS:
        return f"{type_name(types, _ELEMENTS[oid])}[]"
    if signature is None:
        name = "unknown" if oid == UNKNOWN else NAMES.get(oid, "another type")
        return SQL_NAMES.get(name, name)
    if signature.element and signature.name.startswith("_"):
        return f"{type_name(types, signature.element)}[]"
    known = SQL_NAMES if signature.schema == "pg_catalog" else {}
    return known.get(signature.name, signature.name)
