"""The rows of buffers as SELECTs: of files, and of what lies in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from dialect.duckdb.constants import constant
from dialect.duckdb.numbers import converted
from dialect.duckdb.rendered import NotWritten, Rendered, cast, text_literal
from executors.duckdb.contents import Contents
from executors.executor import AddedColumn, InFile, InMemory, Part
from executors.rows import OFFSET, WEIGHT, Schema, arrow_schema, name_of


def source_of(
    parts: Sequence[Part],
    schema: Schema,
    names: Mapping[int, str],
    tables: dict[str, pa.Table],
    contents: Contents,
) -> str:
    """The rows of all parts, their columns by `name_of`; `tables` gains those that lie in memory."""
    memory = [part.table for part in parts if isinstance(part, InMemory)]
    files = [part for part in parts if isinstance(part, InFile)]
    whole = {_path(part.uri): part for part in files if part == InFile(part.uri, part.rows)}
    held, rest = contents.select({path: part.rows for path, part in whole.items()}, schema, names)
    read = [part for part in files if part not in whole.values() or _path(part.uri) in rest]
    selects = [held] if held is not None else []
    selects += _from_files(read, schema, names)
    if memory or not selects:
        name = f"rows_{len(tables)}"
        wanted = arrow_schema(schema)
        tables[name] = pa.concat_tables(
            [wanted.empty_table(), *(table.select(wanted.names).cast(wanted) for table in memory)]
        )
        columns = "".join(
            f"{cast(name_of(column), storage).sql} AS {name_of(column)}, "
            for column, storage in schema.items()
        )
        selects.append(f"SELECT {columns}{WEIGHT} FROM {name}")
    return " UNION ALL ".join(selects)


def _from_files(parts: Sequence[InFile], schema: Schema, names: Mapping[int, str]) -> list[str]:
    """A SELECT for the files that are read as a whole, and one for each other stretch of offsets."""
    stretches: dict[tuple[int | None, int | None, tuple[AddedColumn, ...]], list[str]] = {}
    for part in parts:
        stretches.setdefault((part.after, part.upto, part.added), []).append(_path(part.uri))
    return [
        _stretch(paths, after, upto, added, schema, names)
        for (after, upto, added), paths in stretches.items()
    ]


def _stretch(
    paths: Sequence[str],
    after: int | None,
    upto: int | None,
    added: Sequence[AddedColumn],
    schema: Schema,
    names: Mapping[int, str],
) -> str:
    values = {column.name: _constant(column) for column in added}
    columns = "".join(
        f"{cast(values.get(names[column], names[column]), storage).sql} AS {name_of(column)}, "
        for column, storage in schema.items()
    )
    files = ", ".join(map(text_literal, paths))
    bounds = [f"{OFFSET} > {after}"] if after is not None else []
    bounds += [f"{OFFSET} <= {upto}"] if upto is not None else []
    where = f" WHERE {' AND '.join(bounds)}" if bounds else ""
    options = "hive_partitioning = false, union_by_name = true"
    return f"SELECT {columns}{WEIGHT} FROM read_parquet([{files}], {options}){where}"


def _constant(added: AddedColumn) -> str:
    value: Rendered = constant(added.text, added.type, added.storage)
    return converted(value, added.storage).sql


def _path(uri: str) -> str:
    """The path of a file on this machine; others are Spark's to read."""
    address = urlsplit(uri)
    if address.scheme not in ("", "file") or any(sign in address.path for sign in "*?["):
        raise NotWritten(f"a file at {uri}")
    return unquote(address.path)
