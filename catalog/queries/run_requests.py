"""Runs that are entered for a client that cannot commit them itself."""

from __future__ import annotations

from psycopg import AsyncConnection

from catalog.errors import Error


async def enter_run(
    connection: AsyncConnection, kind: str, result: int, run: str, process: int, why_not: Error | None
) -> None:
    """Have the result in a table verified, or brought up to date, for the client of a process of the server.

    Or say in the run why it is not.
    """
    async with connection.transaction():
        await connection.execute("SELECT gavial.ask(%s, %s, %s, %s)", (kind, result, run, process))
        if why_not is not None:
            await connection.execute(
                "UPDATE gavial.runs SET state = 'failed', sqlstate = %s, message = %s WHERE id = %s",
                (why_not.sqlstate, why_not.message, run),
            )


async def leave_run(connection: AsyncConnection, run: str) -> None:
    """Nobody waits for a run any more that was entered."""
    await connection.execute("DELETE FROM gavial.runs WHERE id = %s", (run,))
