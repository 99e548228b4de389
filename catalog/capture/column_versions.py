"""The columns that captured tables have had, each set of them under a number."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from psycopg import Connection

from catalog.rows import mapping_of, row_of, value_of, values_of

_LATEST: Final = """
    SELECT version AS number, columns FROM gavial.schemas
    WHERE relation = %s::oid ORDER BY version DESC LIMIT 1
"""
_WRITTEN: Final = "SELECT columns FROM gavial.schemas WHERE relation = %s::oid AND version = %s"
_SAVE: Final = """
    WITH latest AS (
        SELECT version, columns FROM gavial.schemas
        WHERE relation = %(relation)s::oid ORDER BY version DESC LIMIT 1
    ), added AS (
        INSERT INTO gavial.schemas (relation, version, columns)
        SELECT %(relation)s::oid, coalesce((SELECT version FROM latest), 0) + 1, %(columns)s::jsonb
        WHERE (SELECT columns FROM latest) IS DISTINCT FROM %(columns)s::jsonb
        RETURNING version
    )
    SELECT version FROM added UNION ALL SELECT version FROM latest ORDER BY 1 DESC LIMIT 1
"""
_OUTDATED: Final = "SELECT unnest(outdated)::int FROM gavial.sources WHERE relation = %s::oid"
# Where a rewrite of the table goes unnoticed, a default may have been written into its older rows.
_MISSING: Final = """
    SELECT a.attnum::int AS key, coalesce((a.attmissingval::text::text[])[1], d.value) AS value
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
        LEFT JOIN gavial.defaults d ON d.relation = a.attrelid AND d.number = a.attnum
    WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
        AND (a.atthasmissing OR d.value IS NOT NULL
            OR (a.atthasdef OR a.attidentity <> '') AND (c.relkind = 'p' OR NOT EXISTS (
                SELECT FROM pg_event_trigger t WHERE t.evtname = 'gavial_rewrite' AND t.evtenabled <> 'D')))
"""


@dataclass(frozen=True, slots=True)
class WrittenColumns:
    """The columns of a version, each as its number in pg_attribute, name, type, modifier, and value in rows
    that are older, if there is one."""

    number: int
    columns: Sequence[Sequence[Any]]


def latest_columns(connection: Connection, relation: int) -> WrittenColumns:
    """The latest version, which is 0 and without columns where none is written down."""
    return row_of(connection, WrittenColumns, _LATEST, (relation,)) or WrittenColumns(0, ())


def columns_of_version(connection: Connection, relation: int, version: int) -> Sequence[Sequence[Any]]:
    """The columns of a version that was written down."""
    columns: Sequence[Sequence[Any]] | None = value_of(connection, _WRITTEN, (relation, version))
    assert columns is not None, "who writes rows writes down what their columns are"
    return columns


def save_columns(connection: Connection, relation: int, columns: Sequence[Sequence[Any]]) -> int:
    """Write down the columns that a table has now, where they are others; the number of their version."""
    return int(value_of(connection, _SAVE, {"relation": relation, "columns": json.dumps(columns)}))


def outdated_columns(connection: Connection, relation: int) -> frozenset[int]:
    """The columns that nobody may read before the table is copied again."""
    return frozenset(values_of(connection, _OUTDATED, (relation,)))


def missing_values(connection: Connection, relation: int) -> dict[int, str | None]:
    """What columns have, as text, in rows older than they; None where a rewrite changed the rows."""
    return mapping_of(connection, _MISSING, (relation,))
