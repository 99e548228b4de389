"""The rows of buffers as SELECTs: of files, and of what lies in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from dialect.duckdb.constants import constant
from dialect.duckdb.numbers import converted
from dialect.duckdb.rendered import Rendered, cast
from executors.duckdb.contents import Contents
from executors.duckdb.inputs import Inputs
from executors.duckdb.whole_files import WholeFiles, path_of, without
from executors.executor import AddedColumn, InFile, InMemory, Part, files_by_stretch
from executors.rows import OFFSET, WEIGHT, Schema, arrow_schema, name_of


def source_of(
    parts: Sequence[Part],
    schema: Schema,
    names: Mapping[int, str],
    inputs: Inputs,
    contents: Contents | None,
) -> str:
    """The rows of all parts, their columns by `name_of`; `inputs` gains what is read.

    Without `contents` every file is read.
    """
    selects = []
    whole = None if contents is None else WholeFiles.among(parts, schema, names)
    if contents is not None and whole is not None and (held := contents.source(whole)) is not None:
        columns = "".join(f"{names[column]} AS {name_of(column)}, " for column in schema)
        selects.append(f"SELECT {columns}{WEIGHT} FROM {held}")
        parts = without(parts, whole.rows)
    memory = [part.table for part in parts if isinstance(part, InMemory)]
    files = [part for part in parts if isinstance(part, InFile)]
    selects += _from_files(files, schema, names, inputs)
    if memory or not selects:
        wanted = arrow_schema(schema)
        name = inputs.table(
            pa.concat_tables(
                [wanted.empty_table(), *(table.select(wanted.names).cast(wanted) for table in memory)]
            )
        )
        columns = "".join(
            f"{cast(name_of(column), storage).sql} AS {name_of(column)}, "
            for column, storage in schema.items()
        )
        selects.append(f"SELECT {columns}{WEIGHT} FROM {name}")
    return " UNION ALL ".join(selects)


def _from_files(
    parts: Sequence[InFile], schema: Schema, names: Mapping[int, str], inputs: Inputs
) -> list[str]:
    """A SELECT for the files that are read as a whole, and one for each other stretch of offsets."""
    return [
        _stretch(inputs.parquet([path_of(file) for file in files]), after, upto, added, schema, names)
        for (after, upto, added), files in files_by_stretch(parts).items()
    ]


def _stretch(
    source: str,
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
    bounds = [f"{OFFSET} > {after}"] if after is not None else []
    bounds += [f"{OFFSET} <= {upto}"] if upto is not None else []
    where = f" WHERE {' AND '.join(bounds)}" if bounds else ""
    return f"SELECT {columns}{WEIGHT} FROM {source}{where}"


def _constant(added: AddedColumn) -> str:
    value: Rendered = constant(added.text, added.type, added.storage)
    return converted(value, added.storage).sql
