"""What the meaning of an expression leaves to its database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from catalog.errors import FeatureNotSupported
from catalog.postgres.signatures import TypeSignature
from catalog.postgres.storage import Storage, Written, array_of, storage_of
from catalog.postgres.type_names import type_name
from catalog.postgres.types import C_COLLATIONS, JSON, JSONB, NO_COLLATION, TIMETZ, SqlType
from dialect.expressions.storages import has_forms, unsupported

_UNSORTABLE: Final = {JSON: "json", JSONB: "jsonb", TIMETZ: "time with time zone"}
_SORTABLE_HINT: Final = "Sort by an expression of another type."


@dataclass(frozen=True, slots=True)
class Environment:
    """What expressions leave to their database: what its types are made of, which collations order bytes,
    and whether its largest and smallest intervals are infinite."""

    types: Mapping[int, TypeSignature] = field(default_factory=dict)
    binary_collations: frozenset[int] = C_COLLATIONS
    infinite_intervals: bool = True

    def storage(self, type_: SqlType) -> Storage:
        """How a value of this type is stored; a domain's as its base type's, an array's by its elements'."""
        signature = self.types.get(type_.oid)
        if signature is not None and signature.base:
            return self.storage(replace(type_, oid=signature.base))
        if signature is not None and signature.element and signature.category == "A":
            element = replace(type_, oid=signature.element, collation=NO_COLLATION)
            return array_of(self.storage(element), type_)
        return storage_of(type_, signature)

    def groups_have_forms(self, type_: SqlType) -> bool:
        """Whether the values of this type that make a group may be written differently.

        Numerics may not: they are trimmed before groups are made. A type that is not stored makes none.
        """
        try:
            storage = self.storage(type_)
        except FeatureNotSupported:
            return False
        return has_forms(storage) and not isinstance(storage, Written)

    def type_name(self, type_: SqlType) -> str:
        """What the type is called in messages."""
        return type_name(self.types, type_.oid)

    def check_order(self, collation: int, what: str) -> None:
        """Refuse an order that is not that of the bytes."""
        if collation != NO_COLLATION and collation not in self.binary_collations:
            raise unsupported(f"{what} under a collation other than C", 'Add COLLATE "C" to the expression.')

    def check_sortable(self, type_: SqlType) -> None:
        """Refuse to sort values whose stored form has another order than PostgreSQL gives them."""
        signature = self.types.get(type_.oid)
        if signature is not None and signature.base:
            self.check_sortable(SqlType(signature.base))
        elif signature is not None and signature.element and signature.category == "A":
            self.check_sortable(SqlType(signature.element))
        elif type_.oid in _UNSORTABLE or (signature is not None and signature.kind == "e"):
            name = signature.name if signature is not None else _UNSORTABLE[type_.oid]
            raise unsupported(f"an order of values of type {name}", _SORTABLE_HINT)


DEFAULT: Final = Environment()
