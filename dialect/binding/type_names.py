"""A type as written after `::`, with its modifier packed as PostgreSQL packs it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sqlglot import exp
from sqlglot.expressions import DType

from catalog.postgres import types
from catalog.postgres.signatures import Signatures
from catalog.postgres.types import NO_TYPMOD, SqlType
from dialect.binding.binder import folded
from dialect.binding.unbindable import refused, refused_node

_OIDS: Final[Mapping[object, int]] = {
    DType.BIGINT: types.INT8,
    DType.BOOLEAN: types.BOOL,
    DType.BPCHAR: types.BPCHAR,
    DType.CHAR: types.BPCHAR,
    DType.DATE: types.DATE,
    DType.DECIMAL: types.NUMERIC,
    DType.DOUBLE: types.FLOAT8,
    DType.FLOAT: types.FLOAT4,
    DType.INET: types.INET,
    DType.INT: types.INT4,
    DType.INTERVAL: types.INTERVAL,
    DType.JSON: types.JSON,
    DType.JSONB: types.JSONB,
    DType.MONEY: types.MONEY,
    DType.NAME: types.NAME,
    DType.SMALLINT: types.INT2,
    DType.TEXT: types.TEXT,
    DType.TIME: types.TIME,
    DType.TIMESTAMP: types.TIMESTAMP,
    DType.TIMESTAMPTZ: types.TIMESTAMPTZ,
    DType.TIMETZ: types.TIMETZ,
    DType.UNKNOWN: types.UNKNOWN,
    DType.UUID: types.UUID,
    DType.VARBINARY: types.BYTEA,
    DType.VARCHAR: types.VARCHAR,
}
_PRECISIONS: Final = frozenset((types.TIME, types.TIMETZ, types.TIMESTAMP, types.TIMESTAMPTZ))
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
        return types.OID, NO_TYPMOD
    if not isinstance(node, exp.DataType):
        raise refused(f"the type {node.sql(dialect='postgres').lower()}", _CAST_HINT)
    if isinstance(node.this, exp.Interval):
        return types.INTERVAL, _interval_typmod(node.this.args.get("unit"))
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
        case (precision,) if oid == types.NUMERIC:
            return (precision << 16) + types.HEADER
        case (precision, scale) if oid == types.NUMERIC:
            return ((precision << 16) | scale) + types.HEADER
        case (length,) if oid in (types.VARCHAR, types.BPCHAR):
            return length + types.HEADER
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
