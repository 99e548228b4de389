"""Files that are read as a whole: what else has their rows may stand in their place."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from catalog.postgres.storage import Storage
from dialect.duckdb.rendered import NotWritten
from executors.executor import InFile, InMemory, Part, StateName
from executors.rows import Schema
from sources.warehouse.warehouse import buffer_folder


@dataclass(frozen=True, slots=True)
class WholeFiles:
    """Files of one buffer, in its folder and below, of which all rows are wanted as they are there.

    `rows`: how many each file has, by its path. `columns`: those that are wanted, by their names there.
    """

    folder: str
    rows: Mapping[str, int]
    columns: Mapping[str, Storage]

    @staticmethod
    def among(parts: Sequence[Part], schema: Schema, names: Mapping[int, str]) -> WholeFiles | None:
        """Those among the parts of a buffer; None where there are none, or they are of several buffers."""
        files = [part for part in parts if isinstance(part, InFile) and part == InFile(part.uri, part.rows)]
        rows = {path_of(file.uri): file.rows for file in files}
        folders = {buffer_folder(path) for path in rows}
        if len(folders) != 1:
            return None
        return WholeFiles(folders.pop(), rows, {names[column]: schema[column] for column in schema})

    @property
    def total(self) -> int:
        """How many rows there are in all files."""
        return sum(self.rows.values())


def without(parts: Sequence[Part], paths: Collection[str]) -> list[Part]:
    """The parts but for those in files with these paths."""
    return [part for part in parts if isinstance(part, InMemory) or path_of(part.uri) not in paths]


def state_name(folder: str, columns: Iterable[str]) -> StateName:
    """What the content of a folder is called that is kept by these columns."""
    return Path(folder).name, frozenset(columns)


def path_of(uri: str) -> str:
    """The path of a file on this machine; others are Spark's to read."""
    address = urlsplit(uri)
    if address.scheme not in ("", "file") or any(sign in address.path for sign in "*?["):
        raise NotWritten(f"a file at {uri}")
    return unquote(address.path)
