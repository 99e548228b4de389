"""Databases to make standing queries in, and what can be seen of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg
from psycopg.conninfo import make_conninfo

from tests.support.running.servers import Gavial

_NUMBERS = itertools.count()


@contextmanager
def fresh_database(proxy: Gavial) -> Iterator[str]:
    """The address of a database of its own, with Gavial in it."""
    name = f"standing_{next(_NUMBERS)}"
    with psycopg.connect(proxy.dsn(), autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")
        dsn = proxy.dsn(dbname=name)
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("SHOW gavial.version")
        try:
            yield dsn
        finally:
            drop_database(admin, name)


def drop_database(admin: psycopg.Connection, name: str) -> None:
    """Drop a database whose changes are followed: whoever does has to let go before."""
    admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
    admin.execute("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s", (name,))
    admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


def session(dsn: str, user: str | None = None) -> psycopg.Connection:
    """A session in autocommit mode, of the superuser or of a role whose password is its name."""
    login = {} if user is None else {"user": user, "password": user}
    return psycopg.connect(make_conninfo(dsn, **login), autocommit=True)


@dataclass(frozen=True, slots=True)
class Refused:
    """How a statement failed; the position counts from 1, 0 is none."""

    sqlstate: str
    message: str
    position: int = 0
    detail: str = ""
    hint: str = ""


def refused(connection: psycopg.Connection, statement: str) -> Refused:
    """The error that a statement must give."""
    try:
        connection.execute(statement.encode())
    except psycopg.Error as error:
        return refusal_in(error)
    raise AssertionError(f"accepted: {statement}")


def refusal_in(error: psycopg.Error) -> Refused:
    """What the server said in an error."""
    said = error.diag
    return Refused(
        said.sqlstate or "",
        said.message_primary or "",
        int(said.statement_position or 0),
        said.message_detail or "",
        said.message_hint or "",
    )


_TRACES = {
    "relations": "SELECT oid::regclass::text, relkind, relreplident, relowner::regrole::text, relacl::text "
    "FROM pg_class WHERE relnamespace NOT IN ('pg_catalog'::regnamespace, 'pg_toast'::regnamespace) "
    "AND oid <> 'gavial.turn'::regclass",
    "dependencies": "SELECT count(*) FROM pg_depend",
    "grants": "SELECT count(*) FROM pg_shdepend",
    "triggers": "SELECT tgrelid::regclass::text, tgname FROM pg_trigger",
    "types": "SELECT count(*) FROM pg_type",
    "rules": "SELECT count(*) FROM pg_rewrite",
    "comments": "SELECT count(*) FROM pg_description",
    "published": "SELECT prpubid, prrelid::regclass::text FROM pg_publication_rel",
    "queries": "SELECT * FROM gavial.queries",
    "reads": "SELECT * FROM gavial.reads",
    "identities": "SELECT * FROM gavial.identities",
    "sources": "SELECT relation, old_row_by FROM gavial.sources",
    "requests": "SELECT * FROM gavial.requests",
    "installation": "SELECT * FROM gavial.installation",
}


def traces(connection: psycopg.Connection) -> dict[str, list[str]]:
    """Everything in a database that a statement of ours may change; for a superuser."""
    return {kind: sorted(map(repr, connection.execute(query))) for kind, query in _TRACES.items()}


def statuses(connection: psycopg.Connection) -> dict[str, tuple[str, str | None]]:
    """Status and its SQLSTATE by the name of each query."""
    found = connection.execute(
        "SELECT schema_name || '.' || name, status, status_sqlstate FROM gavial.standing_queries"
    )
    return {name: (status, sqlstate) for name, status, sqlstate in found}
