"""Tables, views and types as the functions of the schema `gavial` describe them in JSON."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from catalog.postgres.schema import Column, ForeignKey, Table, TableName, Tables, View, Views
from catalog.postgres.signatures import Signatures, TypeSignature
from catalog.postgres.types import SqlType

Description: TypeAlias = Mapping[str, Any]
"""What `gavial.relation` gives for one relation; for a view with its `text`."""

Sizes: TypeAlias = Mapping[str, Any]
"""What `gavial.sizes` gives for one table: its name, its `rows`, and statistics of its `columns`."""


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


@dataclass(frozen=True, slots=True)
class Described:
    """A hidden view with everything below it, as its database describes it.

    `collations`: how those are written that columns have. `binary`: text under the database's own collation
    has the order of its bytes.
    """

    view: View
    views: Views
    tables: Tables
    types: list[list[Any]]
    collations: Mapping[int, str]
    binary: bool

    @staticmethod
    def of(asked: Mapping[str, Any]) -> Described:
        """The description that `gavial.question` gives."""
        views = {described["oid"]: view_from(described) for described in asked["views"]}
        tables = map(table_from, asked["tables"])
        return Described(
            views[asked["view"]],
            {view.name: view for view in views.values()},
            {table.name: table for table in tables},
            asked["types"],
            {int(oid): written for oid, written in asked["collations"].items()},
            asked["binary"],
        )


def is_whole(asked: Mapping[str, Any]) -> bool:
    """Whether everything that the question is about was there while it was put together.

    What describes a relation is looked up later than the snapshot from which the list of relations comes.
    """
    views, tables = asked["views"] or (), asked["tables"]
    views_are_there = all(view is not None and view["text"] is not None for view in views)
    view_is_there = views_are_there and any(view["oid"] == asked["view"] for view in views)
    return view_is_there and all(table is not None for table in tables)


def with_types(signatures: Signatures, described: Iterable[Iterable[Any]]) -> Signatures:
    """The snapshot with these user-defined types in it, which may be newer than it."""
    types = {signature.oid: signature for signature in (TypeSignature(*values) for values in described)}
    named = {f"{signature.schema}.{signature.name}": signature for signature in types.values()}
    return replace(
        signatures,
        types={**signatures.types, **types},
        types_by_name={**signatures.types_by_name, **named},
    )
