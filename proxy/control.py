"""The proxy's own connection to the server: installs what statements of ours need, and looks verifiers up.

A connection is made for each question and closed after it: questions are rare, a database can be dropped at
any time, and nothing that a role may do is ever remembered.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import psycopg

from catalog.errors import Error, NotPrepared
from catalog.postgres import install, is_installed, read_verifier
from proxy.scram import Verifier, mock_verifier, parse_verifier
from proxy.settings import Upstream

log = logging.getLogger(__name__)

_OPTIONS: Final = "-c search_path=pg_catalog -c lock_timeout=2s -c statement_timeout=5s -c row_security=off"
_CONNECT_SECONDS: Final = 5


class Control:
    """Answers questions about the server with the upstream's own login."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._mock_secret = secrets.token_bytes(32)

    async def prepare(self, database: str) -> Error | None:
        """Make statements of ours run in this database; why they cannot, if they cannot."""
        try:
            async with self._connection(database) as connection:
                if not await is_installed(connection):
                    await install(connection)
        except psycopg.Error as error:
            log.warning("cannot prepare database %r for statements of ours: %s", database, _line(error))
            return NotPrepared(
                f'database "{database}" is not prepared for statements of gavial',
                detail=_line(error),
                hint="Let a superuser run: gavial install --upstream "
                f"'host={self._upstream.host} port={self._upstream.port} dbname={database} user=…'",
            )
        return None

    async def verifier(self, user: str) -> Verifier | None:
        """What to check a user's SCRAM proof against; None where the function for it is not available."""
        try:
            async with self._connection(self._upstream.database) as connection:
                text = await read_verifier(connection, user)
        except psycopg.Error as error:
            log.warning("cannot look up verifiers: %s", _line(error))
            return None
        return parse_verifier(text or "") or mock_verifier(user, self._mock_secret)

    @asynccontextmanager
    async def _connection(self, database: str) -> AsyncIterator[psycopg.AsyncConnection]:
        upstream = self._upstream
        connection = await psycopg.AsyncConnection.connect(
            host=upstream.host,
            port=upstream.port,
            user=upstream.user,
            password=upstream.password or None,
            dbname=database,
            sslmode=upstream.sslmode,
            sslrootcert=upstream.sslrootcert or None,
            options=_OPTIONS,
            application_name="gavial",
            connect_timeout=_CONNECT_SECONDS,
            autocommit=True,
        )
        async with connection:
            yield connection


def _line(error: psycopg.Error) -> str:
    return " ".join(str(error).split())
