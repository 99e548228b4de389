"""The proxy's own connection to the server: installs what statements of ours need, and looks verifiers up.

A connection is made for each question and closed after it: questions are rare, a database can be dropped at
any time, and nothing that a role may do is ever remembered.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

import psycopg

from catalog.errors import CannotJudgeNow, Error, InTransactionBlock, NotPrepared, ObjectNotInState
from catalog.install.installer import install, is_installed, read_verifier
from catalog.postgres.signatures import Signatures
from catalog.postgres.signatures_reader import read_signatures
from catalog.queries.run_requests import enter_run, leave_run
from catalog.wording import one_line
from proxy.judging.exchange import Head, Judged, read_head
from proxy.judging.judges import Judges
from proxy.net.prerequisites import read_facts, refusal_under
from proxy.settings import Settings
from proxy.wire.scram import Verifier, mock_verifier, parse_verifier
from proxy.wire.verdict import Verdict
from sources.server.prerequisites import ServerFacts

log = logging.getLogger(__name__)

_OPTIONS: Final = "-c search_path=pg_catalog -c lock_timeout=2s -c statement_timeout=5s -c row_security=off"
_CONNECT_SECONDS: Final = 5
_RETRY_SECONDS: Final = 0.5
_VERIFY: Final = "VERIFY STANDING QUERY"
_STATEMENTS: Final = {
    "verify": _VERIFY,
    "verify_postgres": _VERIFY,
    "verify_spark": _VERIFY,
    "refresh": "EXPLAIN ANALYZE",
}
_DATABASES: Final = 16
"""So many databases' snapshots are kept at most."""


class Control:
    """Answers questions about the server with the upstream's own login."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._upstream = settings.upstream
        self._signatures: dict[tuple[str, str], Signatures] = {}
        self._judges = Judges(settings.engines, settings.log_level.upper())
        self._mock_secret = secrets.token_bytes(32)

    def warm(self) -> None:
        """Be ready to judge before anybody asks."""
        self._judges.warm()

    async def prepare(self, database: str) -> Error | None:
        """Make statements of ours run in this database; why they cannot, if they cannot."""
        try:
            async with self._connection(database) as connection:
                if not await is_installed(connection):
                    await install(connection)
        except psycopg.Error as error:
            log.warning("cannot prepare database %r for statements of ours: %s", database, _line(error))
            if _is_unreachable(error):
                return ObjectNotInState(
                    f'the login "{self._upstream.user}" of gavial cannot connect to database "{database}"',
                    detail=_line(error),
                    hint="Let the operator correct --upstream of gavial serve, or mend the server.",
                )
            return NotPrepared(
                f'database "{database}" is not prepared for statements of gavial',
                detail=_line(error),
                hint="Let a superuser run: gavial install --upstream "
                f"'host={self._upstream.host} port={self._upstream.port} dbname={database} user=...' "
                f"--login '{self._upstream.user}'",
            )
        return None

    async def answer(self, database: str, asked: str, prepare: Callable[[Error | Verdict], None]) -> None:
        """Have a question judged, the outcome prepared, then hold the lock that says so until cancelled."""
        loop = asyncio.get_running_loop()
        head = await loop.run_in_executor(None, read_head, asked)
        if head is None:
            return
        judged = loop.create_task(self._judge(database, head, asked))
        try:
            while True:
                try:
                    async with self._connection(database) as connection:
                        outcome = await judged
                        if outcome is None:
                            return
                        prepare(outcome)
                        number = head.ticket + isinstance(outcome, Error)
                        await connection.execute("SELECT pg_advisory_lock(%s)", (number,))
                        async for _ in connection.notifies():
                            pass
                except psycopg.Error as error:
                    log.warning("cannot answer a statement in database %r: %s", database, _line(error))
                    await asyncio.sleep(_RETRY_SECONDS)
        finally:
            judged.cancel()

    async def run(
        self, kind: str, database: str, target: int, run: str, process: int, *, in_block: bool
    ) -> None:
        """Enter what VERIFY or EXPLAIN ANALYZE in a process of the server waits for, or why that is not.

        Remove it when cancelled. What fails is tried again: the statement says how long it waits.
        """
        why = InTransactionBlock(_STATEMENTS[kind]) if in_block else None
        while True:
            try:
                async with self._connection(database) as connection:
                    await enter_run(connection, kind, target, run, process, why)
                    await self._until_cancelled(connection, run)
            except psycopg.Error as error:
                log.warning("cannot %s in database %r: %s", kind, database, _line(error))
                await asyncio.sleep(_RETRY_SECONDS)

    async def _until_cancelled(self, connection: psycopg.AsyncConnection, run: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            try:
                await leave_run(connection, run)
            except psycopg.Error as error:
                log.warning("cannot remove run %s: %s", run, _line(error))

    async def _judge(self, database: str, head: Head, asked: str) -> Judged:
        """Why a query cannot be kept, or how it is explained; waits for a server that cannot be reached."""
        while True:
            try:
                if head.kept:
                    async with self._connection(database) as connection:
                        refusal = await refusal_under(self._settings, connection)
                    if refusal is not None:
                        return refusal
                signatures = await self._signatures_of(database, head.server)
            except psycopg.Error as error:
                if not _is_unreachable(error):
                    return CannotJudgeNow(detail=_line(error))
                await asyncio.sleep(_RETRY_SECONDS)
            else:
                return await self._judges.ask((database, head.server), signatures, asked)

    async def _signatures_of(self, database: str, server: str) -> Signatures:
        """The snapshot of a database, read once: user-defined types come with the questions."""
        known = self._signatures.get((database, server))
        if known is None:
            async with self._connection(database) as connection:
                known = await read_signatures(connection)
            if len(self._signatures) == _DATABASES:
                self._signatures.clear()
            self._signatures[database, server] = known
        return known

    async def facts(self) -> ServerFacts:
        """What the server says of itself, and of this login in its own database."""
        async with self._connection(self._upstream.database) as connection:
            facts = await read_facts(connection)
        assert facts is not None
        return facts

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


def _is_unreachable(error: psycopg.Error) -> bool:
    """Whether there was no connection, so that the server itself has answered nothing."""
    return isinstance(error, psycopg.OperationalError) and error.sqlstate is None


def _line(error: psycopg.Error) -> str:
    return one_line(str(error))
