"""Whether a database is the one that its warehouse and its slot belong to."""

from __future__ import annotations

from uuid import UUID

from psycopg import Connection

from catalog.errors import ConfigurationError
from catalog.install.installation import read_installation
from catalog.rows import row_of
from sources.server.prerequisites import FACTS, ServerFacts, lacks_of_login, refusal_of


def check_identity(connection: Connection) -> UUID:
    """The installation in this database; a copy must not touch what is the original's."""
    installation = read_installation(connection)
    if installation.is_elsewhere:
        raise ConfigurationError(
            "this database is a copy or was restored",
            hint="ALTER STANDING QUERY … RESUME computes its result from scratch.",
        )
    return installation.id


def check_rights(connection: Connection) -> None:
    """Refuse a login that cannot follow changes or write down what it has."""
    facts = row_of(connection, ServerFacts, FACTS, (None,))
    assert facts is not None
    missing = [lack for lack in lacks_of_login(facts) if lack.is_fatal]
    if missing:
        raise refusal_of(missing)
