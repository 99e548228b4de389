"""Tables, and the canonical text of views, as a server has them: what the questions of CREATE bring along."""

from __future__ import annotations

from typing import Any, Final, LiteralString

from psycopg import AsyncConnection, AsyncRawCursor
from psycopg.rows import tuple_row

from catalog.postgres.description import table_from
from catalog.postgres.schema import Table
from tests.support.checkout import ROOT

_ROUTINES: Final = ROOT / "catalog" / "routines"
_BODY: Final = (_ROUTINES / "32_relation.sql").read_bytes().split(b"$body$")[1]
_RELATION: Final = _BODY.partition(b"RETURN (")[2].rpartition(b");")[0]
_CANONICAL: Final = (
    "SET LOCAL search_path = ''",
    "SET LOCAL TimeZone = 'UTC'",
    "SET LOCAL DateStyle = 'ISO, YMD'",
    "SET LOCAL IntervalStyle = 'postgres'",
    "SET LOCAL extra_float_digits = 1",
    "SET LOCAL bytea_output = 'hex'",
    "SET LOCAL quote_all_identifiers = off",
    "SET LOCAL standard_conforming_strings = on",
)


async def read_table(connection: AsyncConnection, name: str | int) -> Table:
    """A table or view as the catalog has it now; `name` as written in SQL, or its oid."""
    ((oid,),) = await _rows(connection, "SELECT %s::regclass::oid", str(name))
    row = await (
        await AsyncRawCursor(connection, row_factory=tuple_row).execute(_RELATION, (oid,))
    ).fetchone()
    assert row is not None
    return table_from(row[0])


async def read_canonical_text(connection: AsyncConnection, view: str | int) -> str:
    """A view's SELECT as PostgreSQL writes it under fixed settings: names, stars and casts spelled out."""
    async with connection.transaction():
        ((oid,),) = await _rows(connection, "SELECT %s::regclass::oid::int8", str(view))
        for setting in _CANONICAL:
            await connection.execute(setting)
        ((text,),) = await _rows(connection, "SELECT pg_catalog.pg_get_viewdef(%s::oid)", oid)
    return str(text)


async def _rows(
    connection: AsyncConnection, query: LiteralString, *arguments: object
) -> list[tuple[Any, ...]]:
    cursor = await connection.cursor(row_factory=tuple_row).execute(query, arguments or None)
    return await cursor.fetchall()
