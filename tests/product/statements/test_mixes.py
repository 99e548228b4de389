"""Random strings of statements, comments, quotes and ours: what takes effect is what should (G12)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.running.servers import Gavial
from tests.support.running.standing_databases import fresh_database, session

pytestmark = pytest.mark.service

NAMES = ("one", "two", '"Thr;ee"')


@dataclass(frozen=True, slots=True)
class Piece:
    """Some text between two semicolons, and what it does to the set of queries."""

    text: str
    makes: str = ""
    drops: str = ""
    fails: bool = False


def ours(name: str) -> list[Piece]:
    return [
        Piece(f"CREATE STANDING QUERY {name} AS SELECT ';' AS t, a FROM base", makes=name),
        Piece(
            f"create /* ; */ standing -- ; '\n query {name} with (max_pace = 5) as (select a from base)",
            makes=name,
        ),
        Piece(f"DROP STANDING QUERY {name}", drops=name),
        Piece(
            f"/* DROP STANDING QUERY one; */ DROP STANDING /* /* ; */ ' */ QUERY {name} CASCADE", drops=name
        ),
    ]


INERT = (
    "SELECT 'DROP STANDING QUERY one;'",
    "SELECT $a$; CREATE STANDING QUERY one AS SELECT 1; $a$",
    "SELECT E'\\'; DROP STANDING QUERY two; '",
    'SELECT 1 AS "; DROP STANDING QUERY one"',
    "/* ; DROP STANDING QUERY one; /* ; */ */",
    "-- ; DROP STANDING QUERY two\n",
    " \n\t",
    "INSERT INTO base VALUES (1)",
    "DO $$ BEGIN PERFORM 'DROP STANDING QUERY one'; END $$",
    "SHOW STANDING QUERIES",
    "SELECT 1 AS standing, 2 AS query",
    "SELECT U&'\\0027; DROP STANDING QUERY one'",
)
PIECES = st.one_of(
    st.sampled_from([piece for name in NAMES for piece in ours(name)]),
    st.sampled_from([Piece(text) for text in INERT]),
    st.sampled_from(
        [
            Piece("SELECT 1/0", fails=True),
            Piece("CREATE STANDING QUERY two AS SELECT nope FROM base", fails=True),
            Piece("DROP STANDING QUERY one, nowhere", fails=True),
        ]
    ),
)


def after(pieces: list[Piece], before: frozenset[str]) -> tuple[frozenset[str], bool]:
    """Which queries there are afterwards, and whether the string succeeds: it is one transaction."""
    now = before
    for piece in pieces:
        if piece.fails or piece.makes in now or (piece.drops and piece.drops not in now):
            return before, False
        now = (now | {piece.makes} - {""}) - {piece.drops}
    return now, True


@pytest.fixture(params=[15, 18])
def connection(request: pytest.FixtureRequest) -> Iterator[psycopg.Connection]:
    proxy: Gavial = request.getfixturevalue(f"gavial{request.param}")
    with fresh_database(proxy) as dsn, session(dsn) as connection:
        connection.execute("CREATE TABLE base (a int)")
        yield connection


def test_mixes(connection: psycopg.Connection) -> None:
    @settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(PIECES, min_size=1, max_size=6))
    def check(pieces: list[Piece]) -> None:
        text = " ; ".join(piece.text for piece in pieces)
        connection.execute(f"DROP STANDING QUERY IF EXISTS {', '.join(NAMES)}".encode())
        connection.execute("CREATE STANDING QUERY one AS SELECT a FROM base")
        expected, succeeds = after(pieces, frozenset({"one"}))
        try:
            connection.execute(text.encode())
            succeeded = True
        except psycopg.Error:
            succeeded = False
        found = connection.execute("SELECT quote_ident(name) FROM gavial.standing_queries")
        there = frozenset(name for (name,) in found)
        assert (there, succeeded) == (expected, succeeds), text

    check()
