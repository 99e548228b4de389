"""A type as written after `::`, with its modifier packed as PostgreSQL packs it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sqlglot import exp
from sqlglot.expressions import DType

from catalog.signatures import Signatures
from catalog.types import (
    BOOL,
    BPCHAR,
    BYTEA,
    DATE,
    FLOAT4,
    FLOAT8,
    INET,
    INT2,
    INT4,
    INT8,
    INTERVAL,
    JSON,
    JSONB,
    MONEY,
    NAME,
    NO_TYPMOD,
    NUMERIC,
    OID,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    TIMETZ,
    UNKNOWN,
    UUID,
    VARCHAR,
    SqlType,
)
from dialect.binding.binder import folded
from dialect.binding.unbindable import refused, refused_node

_OIDS: Final[Mapping[object, int]] = {
    DType.BIGINT: INT8,
    DType.BOOLEAN: BOOL,
    DType.BPCHAR: BPCHAR,
    DType.CHAR: BPCHAR,
    DType.DATE: DATE,
    DType.DECIMAL: NUMERIC,
    DType.DOUBLE: FLOAT8,
    DType.FLOAT: FLOAT4,
    DType.INET: INET,
    DType.INT: INT4,
    DType.INTERVAL: INTERVAL,
    DType.JSON: JSON,
    DType.JSONB: JSONB,
    DType.MONEY: MONEY,
    DType.NAME: NAME,
    DType.SMALLINT: INT2,
    DType.TEXT: TEXT,
    DType.TIME: TIME,
    DType.TIMESTAMP: TIMESTAMP,
    DType.TIMESTAMPTZ: TIMESTAMPTZ,
    DType.TIMETZ: TIMETZ,
    DType.UNKNOWN: UNKNOWN,
    DType.UUID: UUID,
    DType.VARBINARY: BYTEA,
    DType.VARCHAR: VARCHAR,
}
_LENGTH_HEADER: Final = 4
_PRECISIONS: Final = frozenset((TIME, TIMETZ, TIMESTAMP, TIMESTAMPTZ))
_FULL_PRECISION: Final = 0xFFFF
_FIELDS: Final = {"MONTH": 1, "YEAR": 2, "DAY": 3, "HOUR": 10, "MINUTE": 11, "SECOND": 12}
_CAST_HINT: Final = "Cast to text, to a number or to a date instead."
_FIELD_ORDER: Final = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")


def read_type(node: exp.Expr, signatures: Signatures) -> SqlType:
    """The type that a cast names."""
    oid, typmod = _read(node, signatures)
    return SqlType(oid, typmod, signatures.types[oid].collation)


def _read(node: exp.Expr, signatures: Signatures) -> tuple[int, int]:
    if isinstance(node, exp.ObjectIdentifier) and node.name == "OID":
        return OID, NO_TYPMOD
    if not isinstance(node, exp.DataType):
        raise refused(f"the type {node.sql(dialect='postgres').lower()}", _CAST_HINT)
    if isinstance(node.this, exp.Interval):
        return INTERVAL, _interval_typmod(node.this.args.get("unit"))
    if node.this is DType.ARRAY:
        element, typmod = _read(node.expressions[0], signatures)
        return signatures.types[element].array, typmod
    if node.this is DType.USERDEFINED:
        return _named(node, signatures), NO_TYPMOD
    if node.this not in _OIDS:
        raise refused(f"the type {node.sql(dialect='postgres').lower()}", _CAST_HINT)
    oid = _OIDS[node.this]
    return oid, _typmod(oid, tuple(_number(modifier) for modifier in node.expressions))


def _named(node: exp.DataType, signatures: Signatures) -> int:
    kind = node.args.get("kind")
    parts = (
        (kind.this, kind.expression) if isinstance(kind, exp.Dot) else (exp.to_identifier("pg_catalog"), kind)
    )
    qualified = ".".join(folded(part) for part in parts if isinstance(part, exp.Identifier))
    signature = signatures.types_by_name.get(qualified)
    if signature is None and not qualified.startswith("pg_catalog."):
        raise refused("values of a composite type", "Name its columns one by one.")
    if signature is None or node.expressions:
        raise refused(f"the type {node.sql(dialect='postgres').lower()}", _CAST_HINT)
    return signature.oid


def _number(node: exp.Expr) -> int:
    literal = node.this if isinstance(node, exp.DataTypeParam) else node
    if not isinstance(literal, exp.Literal) or not literal.is_int:
        raise refused_node(node)
    return int(literal.this)


def _typmod(oid: int, numbers: tuple[int, ...]) -> int:
    match numbers:
        case ():
            return NO_TYPMOD
        case (precision,) if oid == NUMERIC:
            return (precision << 16) + _LENGTH_HEADER
        case (precision, scale) if oid == NUMERIC:
            return ((precision << 16) | scale) + _LENGTH_HEADER
        case (length,) if oid in (VARCHAR, BPCHAR):
            return length + _LENGTH_HEADER
        case (precision,) if oid in _PRECISIONS:
            return precision
    raise refused(f"the type modifier ({', '.join(map(str, numbers))})", _CAST_HINT)


def _interval_typmod(unit: exp.Expr | None) -> int:
    """The fields from the first to the last named, as a mask above the precision."""
    if unit is None:
        return NO_TYPMOD
    first = unit.this.name.upper() if isinstance(unit, exp.IntervalSpan) else unit.name.upper()
    last = unit.expression.name.upper() if isinstance(unit, exp.IntervalSpan) else first
    if first not in _FIELD_ORDER or last not in _FIELD_ORDER:
        raise refused(f"the interval fields {first} TO {last}")
    fields = _FIELD_ORDER[_FIELD_ORDER.index(first) : _FIELD_ORDER.index(last) + 1]
    return (sum(1 << _FIELDS[field] for field in fields) << 16) | _FULL_PRECISION
