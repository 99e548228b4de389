"""Whether a database is the one that its warehouse and its slot belong to."""

from __future__ import annotations

from uuid import UUID

from psycopg import Connection

from catalog.errors import ConfigurationError


def check_identity(connection: Connection) -> UUID:
    """The installation in this database; a copy must not touch what is the original's."""
    row = connection.execute("SELECT id, gavial.is_elsewhere() FROM gavial.installation").fetchone()
    assert row is not None
    if row[1]:
        raise ConfigurationError(
            "this database is a copy or was restored",
            hint="ALTER STANDING QUERY … RESUME builds the answers anew.",
        )
    assert isinstance(row[0], UUID)
    return row[0]


def check_rights(connection: Connection) -> None:
    """The login can follow changes and write down what it has."""
    row = connection.execute(
        "SELECT r.rolname, r.rolreplication OR r.rolsuper, has_table_privilege('gavial.capture', 'UPDATE') "
        "FROM pg_roles r WHERE r.rolname = current_user"
    ).fetchone()
    assert row is not None
    name, replicates, writes = row
    if not replicates:
        raise ConfigurationError(
            f'the role "{name}" may not follow changes', hint=f'ALTER ROLE "{name}" REPLICATION'
        )
    if not writes:
        raise ConfigurationError(
            f'the role "{name}" may not write to the schema gavial',
            hint=f'Let a superuser run: gavial install --login "{name}".',
        )
