"""What the server behind the proxy lacks for standing queries, as the proxy's login sees it."""

from __future__ import annotations

from psycopg import AsyncConnection

from catalog.async_rows import rows_of
from catalog.errors import Error
from proxy.settings import Settings
from sources.server.prerequisites import (
    FACTS,
    Lack,
    ServerFacts,
    lacks,
    lacks_of_server,
    refusal_of,
)


async def read_facts(connection: AsyncConnection, login: str | None = None) -> ServerFacts | None:
    """What the server says of itself and of a login, by default the connection's; None: no such login."""
    return next(iter(await rows_of(connection, ServerFacts, FACTS, (login,))), None)


def lacks_under(settings: Settings, facts: ServerFacts) -> tuple[Lack, ...]:
    """What keeps standing queries from being answered; the login of another gavial is not known here."""
    if settings.proxy_only:
        return tuple(lacks_of_server(facts, allow_unbounded_wal=True))
    missing = lacks(facts, allow_unbounded_wal=settings.allow_unbounded_wal)
    return tuple(lack for lack in missing if lack.is_fatal)


async def refusal_under(settings: Settings, connection: AsyncConnection) -> Error | None:
    """The error of a statement that needs what the server lacks."""
    facts = await read_facts(connection)
    assert facts is not None
    missing = lacks_under(settings, facts)
    return refusal_of(missing) if missing else None
