"""How a value of each PostgreSQL type lies in a batch: nothing of it is lost, equal values are equal
bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from catalog.errors import FeatureNotSupported
from catalog.signatures import TypeSignature
from catalog.types import (
    BOOL,
    BPCHAR,
    BYTEA,
    CHAR,
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
    NO_TYPMOD,
    NUMERIC,
    OID,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    TIMETZ,
    UUID,
    VARCHAR,
    SqlType,
)

MAX_DIGITS = 38
FREE_SCALE = 18


class Plain(Enum):
    """What needs no parameter: the stored type's name."""

    BOOLEAN = "boolean"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    TEXT = "text"
    BYTES = "bytes"
    DATE = "date"  # this and timestamps: of the years 1 to 9999, and never infinite
    TIME = "time"  # microseconds of the day, int64
    TIMESTAMP = "timestamp"  # microseconds, no zone
    TIMESTAMPTZ = "timestamptz"  # microseconds, UTC
    INTERVAL = "interval"  # struct of months int32, days int32, microseconds int64


@dataclass(frozen=True, slots=True)
class Decimal:
    """An exact number of at most `precision` digits, `scale` of them behind the point."""

    precision: int
    scale: int


@dataclass(frozen=True, slots=True)
class ListOf:
    """A one-dimensional array."""

    element: Storage


Storage: TypeAlias = Plain | Decimal | ListOf


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """A column as its values come and as they are stored; its type is no domain, an array has an element.

    Of a column that is not `kept` no value is: it is stored as texts that are NULL.
    """

    name: str
    type: SqlType
    storage: Storage
    element: StoredColumn | None = None
    kept: bool = True


# A numeric without a modifier may have any scale: so many digits behind the point are kept, more are an
# error.
FREE_NUMERIC = Decimal(MAX_DIGITS, FREE_SCALE)

# bpchar lies without its padding (which its equality ignores too); uuid, json, timetz as their text.
_PLAIN = {
    BOOL: Plain.BOOLEAN,
    INT2: Plain.INT16,
    INT4: Plain.INT32,
    INT8: Plain.INT64,
    OID: Plain.INT64,
    FLOAT4: Plain.FLOAT32,
    FLOAT8: Plain.FLOAT64,
    TEXT: Plain.TEXT,
    VARCHAR: Plain.TEXT,
    BPCHAR: Plain.TEXT,
    NAME: Plain.TEXT,
    CHAR: Plain.TEXT,
    JSON: Plain.TEXT,
    JSONB: Plain.TEXT,
    UUID: Plain.TEXT,
    BYTEA: Plain.BYTES,
    DATE: Plain.DATE,
    TIME: Plain.TIME,
    TIMETZ: Plain.TEXT,
    TIMESTAMP: Plain.TIMESTAMP,
    TIMESTAMPTZ: Plain.TIMESTAMPTZ,
    INTERVAL: Plain.INTERVAL,
}


def stored_column(name: str, type: SqlType, types: Mapping[int, TypeSignature]) -> StoredColumn:
    """A column of this type: domains are followed to what they are made of, arrays to their elements."""
    signature = types.get(type.oid)
    if signature is not None and signature.base:
        return stored_column(name, SqlType(signature.base, collation=type.collation), types)
    if signature is not None and signature.element and signature.category == "A":
        element = stored_column(name, SqlType(signature.element, type.typmod, type.collation), types)
        return StoredColumn(name, type, ListOf(element.storage), element)
    return StoredColumn(name, type, storage_of(type, signature))


def storage_of(type: SqlType, signature: TypeSignature | None = None) -> Storage:
    """How a column of this type is stored; `signature` says what an enum, a domain or an array is made of.

    A domain is stored as its base type, which the caller looks up (`TypeSignature.base`).
    """
    if type.oid == NUMERIC:
        return _numeric(type.typmod)
    if type.oid in _PLAIN:
        return _PLAIN[type.oid]
    if signature is not None and signature.kind == "e":
        return Plain.TEXT
    if signature is not None and signature.element and signature.category == "A":
        return ListOf(storage_of(SqlType(signature.element, type.typmod)))
    named = f"type {signature.name}" if signature else "a composite type"
    raise FeatureNotSupported(f"cannot maintain a query with values of {named}")


def _numeric(typmod: int) -> Decimal:
    if typmod == NO_TYPMOD:
        return FREE_NUMERIC
    packed = typmod - 4
    precision, scale = (packed >> 16) & 0xFFFF, packed & 0x7FF
    scale = (scale ^ 1024) - 1024  # eleven bits with a sign
    if scale < 0:
        precision, scale = precision - scale, 0
    precision = max(precision, scale)
    if precision > MAX_DIGITS:
        raise FeatureNotSupported(f"numeric of {precision} digits cannot be stored: at most {MAX_DIGITS}")
    return Decimal(precision, scale)
