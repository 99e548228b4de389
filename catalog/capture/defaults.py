"""The values of columns in rows that are older than the columns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from psycopg import Connection

from catalog.rows import rows_of

Defaults: TypeAlias = Mapping[tuple[str, int], Mapping[int, str]]
"""The values of newer columns as text, by buffer and version of its columns, then by number; no NULLs."""

NO_DEFAULTS: Final[Defaults] = MappingProxyType({})

_DEFAULTS: Final = """
    SELECT 'table-' || s.relation::oid AS buffer, s.version, d.number, d.value
    FROM gavial.schemas s JOIN gavial.defaults d USING (relation)
    WHERE 'table-' || s.relation::oid = ANY (%s) AND d.value IS NOT NULL
        AND NOT EXISTS (SELECT FROM jsonb_array_elements(s.columns) c WHERE (c ->> 0)::int = d.number)
"""


def defaults_of(connection: Connection, buffers: Collection[str]) -> Defaults:
    """The values that columns newer than a version of these buffers have in its rows."""
    defaults: defaultdict[tuple[str, int], dict[int, str]] = defaultdict(dict)

    def add(*, buffer: str, version: int, number: int, value: str) -> None:
        defaults[buffer, version][number] = value

    rows_of(connection, add, _DEFAULTS, (list(buffers),))
    return defaults
