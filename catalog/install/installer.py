"""Installs and upgrades the schema `gavial` of a database, and reads from it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from psycopg import AsyncConnection, sql

from catalog.async_rows import value_of, values_of
from catalog.install.refusals import REFUSALS
from catalog.version import VERSION

_HERE: Final = Path(__file__).parents[1]
_LOCK: Final = 0x67617669616C
"""Advisory lock under which one installation at a time works in a database."""

_FOR_SUPERUSERS: Final = 60
"""Routines numbered from here on need a superuser to make them."""


async def is_installed(connection: AsyncConnection) -> bool:
    """Whether the schema in this database is the one that belongs to this version."""
    if await value_of(connection, "SELECT to_regclass('gavial.installation')") is None:
        return False
    return bool(await value_of(connection, "SELECT digest FROM gavial.installation") == digest())


async def install(connection: AsyncConnection) -> None:
    """Make the schema what this version needs: all or nothing, and only where it is not so already."""
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        if await is_installed(connection):
            return
        await connection.execute("SET LOCAL check_function_bodies = off")
        await migrate(connection)
        await record(connection)
        superuser = await is_superuser(connection)
        for number, path in numbered("routines"):
            if superuser or number < _FOR_SUPERUSERS:
                await connection.execute(path.read_bytes())


async def migrate(connection: AsyncConnection) -> None:
    """Run the migrations that this database has not seen, each once."""
    await connection.execute(
        "CREATE SCHEMA IF NOT EXISTS gavial; "
        "COMMENT ON SCHEMA gavial IS 'standing queries'; "
        "CREATE TABLE IF NOT EXISTS gavial.migrations ("
        "number int PRIMARY KEY, applied timestamptz NOT NULL DEFAULT now()); "
        "COMMENT ON TABLE gavial.migrations IS 'which changes of this schema were made'; "
        "COMMENT ON COLUMN gavial.migrations.number IS 'number of the change'; "
        "COMMENT ON COLUMN gavial.migrations.applied IS 'when it was made'"
    )
    installed = await values_of(connection, "SELECT number FROM gavial.migrations")
    for number, path in numbered("migrations"):
        if number not in installed:
            await connection.execute(path.read_bytes())
            await connection.execute("INSERT INTO gavial.migrations (number) VALUES (%s)", (number,))


async def record(connection: AsyncConnection) -> None:
    """Write down what is installed, and the rules that CREATE goes by."""
    await connection.execute(
        "INSERT INTO gavial.installation (digest, version, system_identifier, database) "
        "SELECT %s, %s, c.system_identifier, d.oid FROM pg_control_system() c, pg_database d "
        "WHERE d.datname = current_database() "
        "ON CONFLICT (single) DO UPDATE SET digest = excluded.digest, version = excluded.version",
        (digest(), VERSION),
    )
    await connection.execute("DELETE FROM gavial.refusals")
    for refusal in REFUSALS:
        await connection.execute(
            "INSERT INTO gavial.refusals (rule, message, hint, reason) VALUES (%s, %s, %s, %s)",
            (refusal.rule, refusal.message, refusal.hint, refusal.reason),
        )


async def is_superuser(connection: AsyncConnection) -> bool:
    """Whether the connection's role is a superuser."""
    return bool(await value_of(connection, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user"))


async def allow_verifier(connection: AsyncConnection, role: str) -> None:
    """Let a login look verifiers up."""
    grant = sql.SQL("GRANT EXECUTE ON FUNCTION gavial.verifier(text) TO {}").format(sql.Identifier(role))
    await connection.execute(grant)


async def allow_login(connection: AsyncConnection, role: str) -> None:
    """Let a login that is no superuser capture and publish, now and after upgrades; not look verifiers up."""
    functions = await values_of(
        connection,
        "SELECT p.oid::regprocedure::text FROM pg_proc p "
        "WHERE p.pronamespace = 'gavial'::regnamespace AND p.prokind = 'f' AND p.proname <> 'verifier'",
    )
    await connection.execute("UPDATE gavial.capture SET login = %s", (role,))
    for command in (
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA gavial TO {role}",
        "GRANT EXECUTE ON FUNCTION {functions} TO {role}",
        "ALTER DEFAULT PRIVILEGES IN SCHEMA gavial GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {role}",
        "ALTER DEFAULT PRIVILEGES IN SCHEMA gavial GRANT EXECUTE ON FUNCTIONS TO {role}",
    ):
        await connection.execute(
            sql.SQL(command).format(role=sql.Identifier(role), functions=sql.SQL(", ".join(functions)))
        )


async def read_verifier(connection: AsyncConnection, user: str) -> str | None:
    """What the server keeps of a role's password; None if it may not log in with one."""
    kept: str | None = await value_of(connection, "SELECT gavial.verifier(%s)", (user,))
    return kept


def numbered(folder: str) -> Iterator[tuple[int, Path]]:
    """Scripts of a folder with the numbers their names begin with, in order."""
    for path in sorted((_HERE / folder).glob("*.sql")):
        yield int(path.name.partition("_")[0]), path


def digest() -> str:
    """Fingerprint of everything that `install` would make."""
    total = hashlib.sha256(VERSION.encode() + repr(REFUSALS).encode())
    for folder in ("migrations", "routines"):
        for _number, path in numbered(folder):
            total.update(path.name.encode() + path.read_bytes())
    return total.hexdigest()[:16]
