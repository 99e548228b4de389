"""The proxy's own connection to the server: installs what statements of ours need, and looks verifiers up.

A connection is made for each question and closed after it: questions are rare, a database can be dropped at
any time, and nothing that a role may do is ever remembered.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Final

import psycopg

from catalog.asking import enter_run
from catalog.errors import CannotConnectNow, Error, InTransactionBlock, NotPrepared
from catalog.postgres import install, is_installed, read_verifier
from catalog.signatures import Signatures
from catalog.signatures_postgres import read_signatures
from proxy.judge import Question, judge, read_question
from proxy.scram import Verifier, mock_verifier, parse_verifier
from proxy.settings import Upstream
from proxy.verdict import Verdict

log = logging.getLogger(__name__)

_OPTIONS: Final = "-c search_path=pg_catalog -c lock_timeout=2s -c statement_timeout=5s -c row_security=off"
_CONNECT_SECONDS: Final = 5
_RETRY_SECONDS: Final = 0.5
_STATEMENTS: Final = {"verify": "VERIFY STANDING QUERY", "refresh": "EXPLAIN ANALYZE"}
_DATABASES: Final = 16
"""Of so many databases snapshots are kept."""


class Control:
    """Answers questions about the server with the upstream's own login."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._signatures: dict[tuple[str, str], Signatures] = {}
        self._thread = ThreadPoolExecutor(1, "judge")
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

    async def answer(self, database: str, asked: str, prepare: Callable[[Error | Verdict], None]) -> None:
        """Have a question judged, the outcome prepared, then hold the lock that says so until cancelled."""
        loop = asyncio.get_running_loop()
        question = await loop.run_in_executor(self._thread, read_question, asked)
        if question is None:
            return
        judged = loop.create_task(self._judge(database, question))
        while True:
            try:
                async with self._connection(database) as connection:
                    outcome = await judged
                    prepare(outcome)
                    number = question.ticket + isinstance(outcome, Error)
                    await connection.execute("SELECT pg_advisory_lock(%s)", (number,))
                    async for _ in connection.notifies():
                        pass
            except psycopg.Error as error:
                log.warning("cannot answer a statement in database %r: %s", database, _line(error))
                await asyncio.sleep(_RETRY_SECONDS)

    async def run(self, kind: str, database: str, target: int, run: str, *, in_block: bool) -> None:
        """Enter what VERIFY or EXPLAIN ANALYZE waits for, or why that is not; remove it when cancelled."""
        why = InTransactionBlock(_STATEMENTS[kind]) if in_block else None
        try:
            async with self._connection(database) as connection:
                try:
                    await enter_run(connection, kind, target, run, why)
                    await asyncio.Event().wait()
                finally:
                    await connection.execute("DELETE FROM gavial.runs WHERE id = %s", (run,))
        except psycopg.Error as error:
            log.warning("cannot %s in database %r: %s", kind, database, _line(error))

    async def _judge(self, database: str, question: Question) -> Error | Verdict:
        """Why a query cannot be kept, or how it is explained."""
        try:
            signatures = await self._signatures_of(database, question.server)
        except psycopg.Error as error:
            return CannotConnectNow("the query could not be judged", detail=_line(error))
        judged = asyncio.get_running_loop().run_in_executor(self._thread, judge, question, signatures)
        await asyncio.wait([judged])
        match judged.exception():
            case None:
                return judged.result()
            case Error() as refusal:
                return refusal
            case bug:
                log.error("a query could not be judged", exc_info=bug)
                return Error("the query could not be judged", detail=repr(bug))

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
