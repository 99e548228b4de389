"""`gavial install`: a database of a PostgreSQL is prepared, and what the server still lacks is told."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import psycopg

from catalog.errors import ConfigurationError
from catalog.install import installer
from coordinator.failures import in_one_line
from dialect.statements.render import quoted
from proxy.net.prerequisites import read_facts
from proxy.settings import read_address
from sources.server.prerequisites import OLDEST, Lack, ServerFacts, lacks, refusal_of

_CONNECT_SECONDS: Final = 10


async def prepare(address: str, login: str | None, verifying: str | None) -> tuple[Lack, ...]:
    """Install the schema `gavial`, grant what a login needs of it; what is missing after that."""
    async with connection_to(address) as connection:
        await facts_of_role(connection, login)
        if verifying is not None:
            await facts_of_role(connection, verifying)
        await installer.install(connection)
        if login is not None:
            await installer.allow_login(connection, login)
        if verifying is not None:
            await installer.allow_verifier(connection, verifying)
        return lacks(await facts_of_role(connection, login))


async def look(address: str) -> tuple[ServerFacts, tuple[Lack, ...]]:
    """What a server says of itself to a login, and what is missing."""
    async with connection_to(address) as connection:
        facts = await facts_of_role(connection, None)
        return facts, lacks(facts)


@asynccontextmanager
async def connection_to(address: str) -> AsyncIterator[psycopg.AsyncConnection]:
    """A connection; whatever PostgreSQL says against it, or against what is done with it, in one line."""
    read_address(address)
    try:
        async with await psycopg.AsyncConnection.connect(
            address, autocommit=True, connect_timeout=_CONNECT_SECONDS, application_name="gavial"
        ) as connection:
            yield connection
    except psycopg.OperationalError as error:
        raise ConfigurationError(in_one_line(error), hint="Correct --upstream.") from None
    except psycopg.errors.InsufficientPrivilege as error:
        raise ConfigurationError(in_one_line(error), hint="Give --upstream a superuser's login.") from None
    except psycopg.Error as error:
        raise ConfigurationError(in_one_line(error)) from None


async def facts_of_role(connection: psycopg.AsyncConnection, role: str | None) -> ServerFacts:
    """The facts of a role; an error if there is none of the name, or if the server is too old."""
    facts = await read_facts(connection, role)
    if facts is None:
        raise ConfigurationError(
            f'role "{role}" does not exist',
            hint=f"Create it: CREATE ROLE {quoted(role or '')} LOGIN REPLICATION PASSWORD '...'",
        )
    if facts.version < OLDEST:
        raise refusal_of(lacks(facts))
    return facts
