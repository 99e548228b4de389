"""Statements (`x.sql`) and what PostgreSQL and the binder make of them (`x.bound`, recorded)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any

from psycopg import AsyncConnection

from catalog.errors import Error
from catalog.postgres.schema import Column, ForeignKey, Table, TableName, Tables
from catalog.postgres.signatures import (
    CastSignature,
    Collation,
    FunctionSignature,
    OperatorSignature,
    Signatures,
    TypeSignature,
    make_signatures,
)
from catalog.postgres.types import SqlType
from dialect.binding.bind import bind
from dialect.bound.text import BoundText
from tests.support.binding.relations import read_canonical_text, read_table
from tests.support.checkout import ROOT

FOLDER = ROOT / "tests" / "dialect" / "bind"
SNAPSHOT = FOLDER / "snapshot.jsonl"
VIEW = "bound.v"
_PARTS = ("canonical", "columns", "bound")


@dataclass(frozen=True)
class Recorded:
    """A view as PostgreSQL has it, and how it was bound or why not."""

    canonical: str
    columns: tuple[Column, ...]
    bound: str


@dataclass(frozen=True)
class Snapshot:
    """What the binder needs to know of a server."""

    signatures: Signatures
    tables: Tables

    def bind(self, canonical: str, columns: Sequence[Column]) -> str:
        """The bound query as text, or the refusal."""
        try:
            query = bind(canonical, self.tables, self.signatures, columns)
        except Error as error:
            hint = "" if error.hint is None else f"\nhint: {error.hint}"
            return f"{error.sqlstate}: {error.message}{hint}"
        return BoundText(self.signatures).query(query)


def statements(path: Path) -> list[str]:
    """The statements of a file; each ends with a semicolon at the end of a line, or with the file."""
    return [text.strip() for text in path.read_text().split(";\n") if text.strip()]


def recorded(path: Path) -> list[Recorded]:
    """What was recorded of the statements of a file, in their order."""
    cases = []
    for case in path.with_suffix(".bound").read_text().split("\n====\n")[:-1]:
        canonical, columns, bound = (part.split("\n", 1)[1] for part in ("\n" + case).split("\n---- ")[1:])
        cases.append(Recorded(canonical, tuple(_column(line) for line in columns.splitlines()), bound))
    return cases


def record(path: Path, cases: Iterable[Recorded]) -> None:
    """Write what `recorded` reads."""
    texts = []
    for case in cases:
        columns = "\n".join(
            json.dumps([column.name, *astuple(column.type)], ensure_ascii=False) for column in case.columns
        )
        parts = zip(_PARTS, (case.canonical, columns, case.bound), strict=True)
        texts.append("\n".join(f"---- {name}\n{text}" for name, text in parts) + "\n====\n")
    path.with_suffix(".bound").write_text("".join(texts))


def _column(line: str) -> Column:
    name, *type_ = json.loads(line)
    return Column(name, SqlType(*type_))


async def look(connection: AsyncConnection, snapshot: Snapshot, statement: str) -> Recorded:
    """Create a view of the statement, read it back, bind it, drop it."""
    await connection.execute("SET search_path = bound, tpch")
    await connection.execute(f"CREATE VIEW {VIEW} AS {statement}".encode())
    view = await read_table(connection, VIEW)
    canonical = (await read_canonical_text(connection, VIEW)).strip()
    await connection.execute(f"DROP VIEW {VIEW}")
    columns = tuple(Column(column.name, column.type) for column in view.columns)
    return Recorded(canonical, columns, snapshot.bind(canonical, columns))


_KINDS: dict[str, Any] = {
    "type": TypeSignature,
    "operator": OperatorSignature,
    "function": FunctionSignature,
    "cast": CastSignature,
    "collation": Collation,
}


def read_snapshot() -> Snapshot:
    """The recorded snapshot."""
    rows: dict[str, list[Any]] = {kind: [] for kind in (*_KINDS, "table")}
    for line in SNAPSHOT.read_text().splitlines():
        kind, *values = json.loads(line)
        rows[kind].append(values)
    signatures = make_signatures(
        *([_KINDS[kind](*map(_frozen, values)) for values in rows[kind]] for kind in _KINDS)
    )
    tables = [_table(*values) for values in rows["table"]]
    return Snapshot(signatures, {table.name: table for table in tables})


def _table(name: Any, columns: Any, keys: Any, foreign_keys: Any, _oid: int, generated: Any) -> Table:
    return Table(
        TableName(*name),
        tuple(Column(column, SqlType(*type_), *rest) for column, type_, *rest in columns),
        tuple(map(tuple, keys)),
        tuple(ForeignKey(tuple(own), TableName(*parent), tuple(its)) for own, parent, its in foreign_keys),
        generated=tuple(map(tuple, generated)),
    )


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def snapshot_text(snapshot: Snapshot) -> str:
    """The part of a snapshot that the recorded cases need: what is about the types of the tables."""
    types = _useful_types(snapshot)
    signatures = snapshot.signatures
    rows: list[tuple[str, Any]] = [
        ("type", type_) for type_ in signatures.types.values() if type_.oid in types
    ]
    for operators in signatures.operators.values():
        rows += [
            ("operator", operator)
            for operator in operators
            if {operator.left, operator.right, operator.result} - {0} <= types
        ]
    for functions in signatures.functions.values():
        rows += [
            ("function", function)
            for function in functions
            if {*function.arguments, function.result} <= types
        ]
    rows += [("cast", cast) for cast in signatures.casts.values() if {cast.source, cast.target} <= types]
    rows += [
        ("collation", collation)
        for name, collation in signatures.collations.items()
        if name in ("C", "POSIX")
    ]
    lines = [[kind, *astuple(signature)] for kind, signature in rows]
    lines += [["table", *astuple(replace(table, oid=0))] for table in snapshot.tables.values()]
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def _useful_types(snapshot: Snapshot) -> set[int]:
    types = snapshot.signatures.types
    columns = {column.type.oid for table in snapshot.tables.values() for column in table.columns}
    others = {
        type_.oid
        for type_ in types.values()
        if type_.name in ("bit", "int4range", "record", "timetz", "unknown")
    }
    pseudo = {type_.oid for type_ in types.values() if type_.kind == "p" and type_.name.startswith("any")}
    return columns | {types[oid].array for oid in columns if types[oid].array} | others | pseudo | {0}
