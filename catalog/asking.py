"""Runs that are entered for a client that cannot commit them itself."""

from __future__ import annotations

from psycopg import AsyncConnection

from catalog.errors import Error


async def enter_verification(
    connection: AsyncConnection, result: int, run: str, why_not: Error | None
) -> None:
    """Have the answer in a table verified, as of now; or say in the run why it is not."""
    async with connection.transaction():
        await connection.execute("SELECT gavial.ask('verify', %s, %s)", (result, run))
        if why_not is not None:
            await connection.execute(
                "UPDATE gavial.runs SET state = 'failed', sqlstate = %s, message = %s WHERE id = %s",
                (why_not.sqlstate, why_not.message, run),
            )
