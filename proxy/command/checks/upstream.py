"""What a PostgreSQL that Gavial is to stand in front of has of what is needed, by a login there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import psycopg

from catalog.errors import ConfigurationError
from coordinator.failures import in_one_line
from dialect.statements.quoting import quoted
from proxy.command.checks.findings import Finding, Status
from proxy.net.prerequisites import read_facts
from proxy.settings import parse_upstream, read_address
from sources.server.prerequisites import OLDEST, Lack, ServerFacts, lack_text, lacks, refusal_of

_CONNECT_SECONDS: Final = 10


def examine_upstream(upstream: str) -> tuple[Finding, ...]:
    """The server, and everything that it or the login lacks."""
    try:
        parse_upstream(upstream)
        facts, missing = asyncio.run(look(upstream))
    except ConfigurationError as error:
        return (Finding(Status.MISSING, "server", error.message, error.hint or ""),)
    server = Finding(
        Status.OK,
        "server",
        f'PostgreSQL {facts.version_text}, database "{facts.database}", login "{facts.login}"',
    )
    return (server, *map(finding_of, missing))


def finding_of(lack: Lack) -> Finding:
    """What a server, or a login, lacks, with the command that mends it."""
    status = Status.MISSING if lack.is_fatal else Status.WARN
    return Finding(status, "login" if lack.is_right else "server", lack_text(lack))


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
