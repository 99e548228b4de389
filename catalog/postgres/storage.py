"""How a value of each PostgreSQL type lies in a batch: nothing of it is lost.

Equal values may be written differently: `dialect/spark/equality.py` says which are equal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias

from catalog.errors import NotMaintainable
from catalog.postgres import types
from catalog.postgres.signatures import TypeSignature
from catalog.postgres.types import NO_COLLATION, NO_TYPMOD, SqlType

LAYOUT = 3
"""Counts the ways in which values have been stored: a batch of another one is not read.

Whoever raises it adds a migration that has the captured tables copied again.
"""

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
    JSONB = "jsonb"  # its text, in which equal numbers may have other zeros at their ends
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

    def holds(self, other: Decimal) -> bool:
        """Whether every number of another decimal is one of this, too."""
        more_behind = self.scale - other.scale
        return more_behind >= 0 and self.precision - other.precision >= more_behind


@dataclass(frozen=True, slots=True)
class Padded:
    """A bpchar. Of character(n) the text without its padding, which `length` tells; else with all blanks."""

    length: int | None


@dataclass(frozen=True, slots=True)
class ListOf:
    """A one-dimensional array."""

    element: Storage


@dataclass(frozen=True, slots=True)
class Written:
    """A value that is equal to others which are written differently, or that `value` may have no form for.

    It is a struct of two fields, NULL as a whole. `value` is what is computed and compared with; it is NULL
    where the storage has no form for it (of numeric: NaN, infinities, too many digits). `text` is the value
    as PostgreSQL writes it; only a numeric has it always, elsewhere it may be NULL where the text of `value`
    is the same.
    """

    value: Storage


@dataclass(frozen=True, slots=True)
class Shaped:
    """An array of any dimensions and lower bounds: a struct of two fields, NULL as a whole.

    `elements` are all of them, row by row, as a list; `shape` is a list of numbers: how many dimensions there
    are, then the length of each, then the lower bound of each. By these in turn PostgreSQL orders arrays.
    """

    elements: ListOf


Storage: TypeAlias = Plain | Decimal | Padded | ListOf | Written | Shaped


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


# A numeric without a modifier may have any scale, which its text shows; so may one of too many digits.
FREE_NUMERIC = Written(Decimal(MAX_DIGITS, FREE_SCALE))

NO_DIGITS = Decimal(0, 0)
"""A numeric that is NULL in every row: beside any other it makes no difference."""

# uuid, json and timetz lie as their text.
PLAIN = {
    types.BOOL: Plain.BOOLEAN,
    types.INT2: Plain.INT16,
    types.INT4: Plain.INT32,
    types.INT8: Plain.INT64,
    types.OID: Plain.INT64,
    types.FLOAT4: Plain.FLOAT32,
    types.FLOAT8: Plain.FLOAT64,
    types.TEXT: Plain.TEXT,
    types.VARCHAR: Plain.TEXT,
    types.NAME: Plain.TEXT,
    types.CHAR: Plain.TEXT,
    types.JSON: Plain.TEXT,
    types.JSONB: Plain.JSONB,
    types.UUID: Plain.TEXT,
    types.BYTEA: Plain.BYTES,
    types.DATE: Plain.DATE,
    types.TIME: Plain.TIME,
    types.TIMETZ: Plain.TEXT,
    types.TIMESTAMP: Plain.TIMESTAMP,
    types.TIMESTAMPTZ: Plain.TIMESTAMPTZ,
    types.INTERVAL: Plain.INTERVAL,
}


def stored_column(name: str, type: SqlType, types: Mapping[int, TypeSignature]) -> StoredColumn:
    """A column of this type: domains are followed to what they are made of, arrays to their elements."""
    signature = types.get(type.oid)
    if signature is not None and signature.base:
        return stored_column(name, SqlType(signature.base, collation=type.collation), types)
    if signature is not None and signature.element and signature.category == "A":
        element = stored_column(name, replace(type, oid=signature.element), types)
        return StoredColumn(name, type, array_of(element.storage, type), element)
    return StoredColumn(name, type, storage_of(type, signature))


def storage_of(type: SqlType, signature: TypeSignature | None = None) -> Storage:
    """How a column of this type is stored; `signature` says what an enum, a domain or an array is made of.

    A domain is stored as its base type, which the caller looks up (`TypeSignature.base`).
    """
    if type.oid == types.NUMERIC:
        storage = _numeric(type.typmod)
        return Written(storage) if type.wide and isinstance(storage, Decimal) else storage
    if type.oid == types.BPCHAR:
        return Padded(None if type.typmod == NO_TYPMOD else type.typmod - types.HEADER)
    if type.oid in PLAIN:
        return PLAIN[type.oid]
    if signature is not None and signature.kind == "e":
        return Plain.TEXT
    if signature is not None and signature.element and signature.category == "A":
        return array_of(storage_of(replace(type, oid=signature.element, collation=NO_COLLATION)), type)
    named = f"type {signature.name}" if signature else "a composite type"
    raise NotMaintainable(f"values of {named}", hint="Cast them to text, to a number or to a date.")


def array_of(element: Storage, type: SqlType) -> Storage:
    """How an array of such elements is stored."""
    return Shaped(ListOf(element)) if type.wide else ListOf(element)


def _numeric(typmod: int) -> Storage:
    if typmod == NO_TYPMOD:
        return FREE_NUMERIC
    precision, scale = types.numeric_digits(typmod)
    if scale < 0:
        precision, scale = precision - scale, 0
    precision = max(precision, scale)
    return Decimal(precision, scale) if precision <= MAX_DIGITS else FREE_NUMERIC
