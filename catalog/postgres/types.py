"""PostgreSQL's types as values, and the oids that are the same on every server."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

BOOL: Final = 16
BYTEA: Final = 17
CHAR: Final = 18
NAME: Final = 19
INT8: Final = 20
INT2: Final = 21
INT4: Final = 23
TEXT: Final = 25
OID: Final = 26
JSON: Final = 114
FLOAT4: Final = 700
FLOAT8: Final = 701
UNKNOWN: Final = 705
MONEY: Final = 790
INET: Final = 869
BPCHAR: Final = 1042
VARCHAR: Final = 1043
DATE: Final = 1082
TIME: Final = 1083
TIMESTAMP: Final = 1114
TIMESTAMPTZ: Final = 1184
INTERVAL: Final = 1186
TIMETZ: Final = 1266
NUMERIC_ARRAY: Final = 1231
NUMERIC: Final = 1700
RECORD: Final = 2249
ANY: Final = 2276
ANYARRAY: Final = 2277
ANYELEMENT: Final = 2283
ANYNONARRAY: Final = 2776
UUID: Final = 2950
ANYENUM: Final = 3500
JSONB: Final = 3802
JSONPATH: Final = 4072
ANYCOMPATIBLE: Final = 5077
ANYCOMPATIBLEARRAY: Final = 5078
ANYCOMPATIBLENONARRAY: Final = 5079

NO_TYPMOD: Final = -1
NO_COLLATION: Final = 0
CONFLICTING: Final = -1
DEFAULT_COLLATION: Final = 100


@dataclass(frozen=True, slots=True)
class SqlType:
    """Type of a value: its oid, its modifier as PostgreSQL packs it, its collation.

    CONFLICTING stands for a collation that the arguments do not agree on: an error as soon as one is needed.
    A `wide` one is the same type, of a column that is stored, or computed with, with room for rare values.
    """

    oid: int
    typmod: int = NO_TYPMOD
    collation: int = NO_COLLATION
    wide: bool = field(default=False, compare=False)


BOOLEAN: Final = SqlType(BOOL)

C_COLLATIONS: Final = frozenset((950, 951))
"""The collations "C" and "POSIX": text is its bytes, and only ASCII has upper and lower case."""

NAMES: Final = {
    BOOL: "bool",
    BYTEA: "bytea",
    CHAR: '"char"',
    NAME: "name",
    INT8: "int8",
    INT2: "int2",
    INT4: "int4",
    TEXT: "text",
    OID: "oid",
    JSON: "json",
    JSONPATH: "jsonpath",
    FLOAT4: "float4",
    FLOAT8: "float8",
    BPCHAR: "bpchar",
    VARCHAR: "varchar",
    DATE: "date",
    TIME: "time",
    TIMESTAMP: "timestamp",
    TIMESTAMPTZ: "timestamptz",
    INTERVAL: "interval",
    TIMETZ: "timetz",
    NUMERIC: "numeric",
    UUID: "uuid",
    JSONB: "jsonb",
}

HEADER: Final = 4
"""What a length, and the digits of a numeric, are more by in a modifier."""


def numeric_digits(typmod: int) -> tuple[int, int]:
    """How many digits a numeric with this modifier has, and how many of them behind the point."""
    packed = typmod - HEADER
    return packed >> 16 & 0xFFFF, (packed & 0x7FF ^ 1024) - 1024  # eleven bits with a sign


def written_type(type: SqlType) -> str:
    """The type with its modifier; one of the user's by its oid."""
    name = NAMES.get(type.oid, f"type {type.oid}")
    if type.typmod == NO_TYPMOD:
        return name
    if type.oid == NUMERIC:
        return "{}({},{})".format(name, *numeric_digits(type.typmod))
    return f"{name}({type.typmod - HEADER if type.oid in (VARCHAR, BPCHAR) else type.typmod})"
