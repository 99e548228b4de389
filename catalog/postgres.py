"""Installs the schema `gavial` in a database, and reads from it."""

from __future__ import annotations

from pathlib import Path
from typing import Final, LiteralString

from psycopg import AsyncConnection, sql

from catalog.version import VERSION

_HERE: Final = Path(__file__).parent
_LOCK: Final = 0x67617669616C
"""Advisory lock under which one installation at a time works in a database."""


async def installed_version(connection: AsyncConnection) -> str | None:
    """Version of the schema in this database; None where there is none."""
    cursor = await connection.execute("SELECT to_regclass('gavial.about')::text")
    row = await cursor.fetchone()
    if row is None or row[0] is None:
        return None
    cursor = await connection.execute('SELECT "gavial.version" FROM gavial.about')
    row = await cursor.fetchone()
    return None if row is None else str(row[0])


async def install(connection: AsyncConnection) -> None:
    """Make the schema what this version needs; all or nothing, and harmless when it is there already."""
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        await connection.execute(_schema().as_string(connection).encode())
        cursor = await connection.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
        row = await cursor.fetchone()
        if row is not None and row[0]:
            await connection.execute((_HERE / "verifier.sql").read_bytes())


async def allow_verifier(connection: AsyncConnection, role: str) -> None:
    """Let a login look verifiers up."""
    grant = sql.SQL("GRANT EXECUTE ON FUNCTION gavial.verifier(text) TO {}").format(sql.Identifier(role))
    await connection.execute(grant)


async def read_verifier(connection: AsyncConnection, user: str) -> str | None:
    """What the server keeps of a role's password; None if it may not log in with one."""
    cursor = await connection.execute("SELECT gavial.verifier(%s)", (user,))
    row = await cursor.fetchone()
    return None if row is None else row[0]


def _schema() -> sql.Composed:
    before, after = (_HERE / "schema.sql").read_text().split("{version}::text")
    return sql.Composed([_text(before), sql.Literal(VERSION), sql.SQL("::text"), _text(after)])


def _text(statements: LiteralString) -> sql.SQL:
    return sql.SQL(statements)
