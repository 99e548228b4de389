"""How old rows of captured tables are known: changes tell them, or a copy of the rows is looked into."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from psycopg import Connection

from catalog.rows import rows_of, values_of

_TOLD: Final = """
    SELECT relation::oid::int8, old_rows, gavial.wants_key(relation) AS wants_key,
        coalesce(gavial.key_of(relation)::int[], '{}') AS key
    FROM gavial.sources WHERE old_row_by = 'full' ORDER BY 1
"""
_NAME: Final = """
    UPDATE gavial.sources SET old_rows = %s, old_row_key = %s
    WHERE relation = %s::oid AND old_row_by = 'full' AND state = 'captured'
"""
_FORGET: Final = """
    UPDATE gavial.sources SET old_rows = NULL, old_row_key = NULL
    WHERE relation::oid = ANY (%s::oid[]) AND old_row_by = 'full' AND old_rows IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class FullIdentityTable:
    """A table whose changes tell whole old rows.

    `old_rows` names the file of its rows by key, if there is one. `wants_key`: they should be looked up by
    its `key`, the attnums of that.
    """

    relation: int
    old_rows: str | None
    wants_key: bool
    key: Sequence[int]


def full_identity_tables(connection: Connection) -> tuple[FullIdentityTable, ...]:
    """The tables whose changes tell whole old rows."""
    return rows_of(connection, FullIdentityTable, _TOLD)


def name_old_rows(connection: Connection, relation: int, file: str, key: Sequence[int]) -> bool:
    """Have changes of a table go to the file of its rows by key as well; False if it is not captured."""
    return connection.execute(_NAME, (file, list(key), relation)).rowcount > 0


def restore_identity(connection: Connection, relation: int) -> bool:
    """Have changes of a table tell no more than the key; False if that is not wanted any more."""
    return bool(values_of(connection, "SELECT gavial.restore_identity(%s::oid)", (relation,))[0])


def forget_old_rows(connection: Connection, relations: Collection[int]) -> None:
    """Name no files any more of the rows of tables that tell whole old rows."""
    connection.execute(_FORGET, (list(relations),))


def old_row_files(connection: Connection) -> frozenset[str]:
    """The files of rows by key that are named."""
    files = values_of(connection, "SELECT old_rows FROM gavial.sources WHERE old_rows IS NOT NULL")
    return frozenset(files)
