"""Tables, views and types as the functions of the schema `gavial` describe them in JSON."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from catalog.schema import Column, ForeignKey, Table, TableName, View
from catalog.signatures import Signatures, TypeSignature
from catalog.types import SqlType

Description: TypeAlias = Mapping[str, Any]
"""What `gavial.relation` gives for one relation; for a view with its `text`."""


def table_from(described: Description) -> Table:
    """A table, or a view as something to read from."""
    generated: dict[str, str | None] = described.get("generated", {})
    wide: Collection[int] = described.get("wide", ())
    return Table(
        TableName(described["schema"], described["name"]),
        tuple(
            Column(name, SqlType(oid, typmod, collation, attribute in wide), nullable, attribute)
            for name, oid, typmod, collation, nullable, attribute in described["columns"]
        ),
        tuple(tuple(key) for key in described["keys"] if generated.keys().isdisjoint(key)),
        tuple(
            ForeignKey(tuple(columns), TableName(schema, parent), tuple(parent_columns))
            for columns, schema, parent, parent_columns in described["foreign_keys"]
            if generated.keys().isdisjoint(columns)
        ),
        described["oid"],
        tuple(generated.items()),
    )


def view_from(described: Description) -> View:
    """A view with its SELECT."""
    table = table_from(described)
    return View(table.name, described["text"], table.columns)


def with_types(signatures: Signatures, described: Iterable[Iterable[Any]]) -> Signatures:
    """The snapshot with these user-defined types in it, which may be newer than it."""
    types = {signature.oid: signature for signature in (TypeSignature(*values) for values in described)}
    named = {f"{signature.schema}.{signature.name}": signature for signature in types.values()}
    return replace(
        signatures,
        types={**signatures.types, **types},
        types_by_name={**signatures.types_by_name, **named},
    )
