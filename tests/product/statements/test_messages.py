"""What statements of ours say beside doing what they are asked for, and about a user's ordinary mistakes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import psycopg
import pytest

from tests.support.capture.databases import one
from tests.support.checkout import ROOT
from tests.support.running.servers import Gavial
from tests.support.running.standing_databases import fresh_database, refused, session
from tests.support.statement_script import WAITING_FOR_A_PLAN

pytestmark = pytest.mark.service

MIGRATION: Final = ROOT / "catalog" / "migrations" / "0024_triggers.sql"


@pytest.fixture(scope="module", params=[15, 18])
def dsn(request: pytest.FixtureRequest) -> Iterator[str]:
    proxy: Gavial = request.getfixturevalue(f"gavial{request.param}")
    with fresh_database(proxy) as made:
        with session(made) as connection:
            connection.execute("CREATE TABLE orders (id int PRIMARY KEY, total int)")
            connection.execute("CREATE TABLE times (z timestamptz, s timestamp, d date)")
        yield made


@pytest.fixture
def user(dsn: str) -> Iterator[psycopg.Connection]:
    with session(dsn) as connection:
        yield connection
        connection.execute("DROP STANDING QUERY IF EXISTS q")


def notices(connection: psycopg.Connection, statement: str) -> list[str]:
    """What is said while a statement runs."""
    said: list[str] = []

    def listen(notice: psycopg.errors.Diagnostic) -> None:
        if notice.message_primary != WAITING_FOR_A_PLAN:
            said.append(notice.message_primary or "")

    connection.add_notice_handler(listen)
    connection.execute(statement.encode())
    connection.remove_notice_handler(listen)
    return said


NOT_COMPUTED = "the result of standing query public.q is not computed yet"
BODY = "AS SELECT total, count(*) AS n FROM orders GROUP BY total WITH NO DATA"


def test_an_option_without_effect_is_said_to_have_none_once(user: psycopg.Connection) -> None:
    one = "option SHARING has no effect yet"
    create = f"CREATE STANDING QUERY q WITH (SHARING = on, FINAL_WORK = 1, MEMORY_BUDGET = '1GB') {BODY}"
    assert notices(user, f"EXPLAIN {create}") == [one]
    assert notices(user, create) == [one, NOT_COMPUTED]
    assert notices(user, create.replace("CREATE", "CREATE OR REPLACE")) == [one, NOT_COMPUTED]
    assert notices(user, "ALTER STANDING QUERY q SET (SHARING = off)") == [one]
    assert notices(user, "ALTER STANDING QUERY q SET (MEMORY_BUDGET = 0)") == []
    assert notices(user, "EXPLAIN (STATE, SHARING) STANDING QUERY q") == ["option SHARING has no effect yet"]
    assert notices(user, f"EXPLAIN (STATE) CREATE STANDING QUERY r {BODY}") == []


def test_what_has_an_effect_is_not_remarked_upon(user: psycopg.Connection) -> None:
    create = f"CREATE STANDING QUERY q WITH (MAX_PACE = 5, METHOD = auto) {BODY}"
    assert notices(user, create) == [NOT_COMPUTED]
    assert notices(user, "ALTER STANDING QUERY q SET (MAX_PACE = 7)") == []
    assert notices(user, "ALTER STANDING QUERY q RESET (MEMORY_BUDGET)") == []
    assert notices(user, "EXPLAIN (VERBOSE, COSTS) STANDING QUERY q") == []


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("total", 'cannot drop column "n" of standing query public.q'),
        (
            "total AS sum, count(*) AS n",
            'cannot change name of column "total" of standing query public.q to "sum"',
        ),
        (
            "total, count(*)::int AS n",
            'cannot change type of column "n" of standing query public.q from bigint to integer',
        ),
    ],
)
def test_other_columns_of_a_query_that_is_replaced(
    user: psycopg.Connection, columns: str, message: str
) -> None:
    user.execute(f"CREATE STANDING QUERY q {BODY}".encode())
    replace = f"CREATE OR REPLACE STANDING QUERY q AS SELECT {columns} FROM orders GROUP BY total"
    for statement in (replace, f"{replace} WITH NO DATA"):
        found = refused(user, statement)
        assert (found.sqlstate, found.message, found.detail) == ("42P16", message, "")
        assert "run DROP STANDING QUERY public.q before" in found.hint
    given = f"CREATE OR REPLACE STANDING QUERY q (total, m) {BODY}"
    assert refused(user, given).message == (
        'cannot change name of column "n" of standing query public.q to "m"'
    )
    assert notices(user, f"CREATE OR REPLACE STANDING QUERY q {BODY}") == [NOT_COMPUTED]


REFUSED = {
    "max(i)": ("max", "the aggregate max over values of type interval", "max takes numbers, texts, dates"),
    "avg(i)": ("avg", "the aggregate avg over values of type interval", "avg takes numbers here: extract"),
    "max(f)": ("max", "the aggregate max over values of type double precision[]", "max takes numbers"),
    "count(*) FILTER (WHERE f = '{1}')": (
        "=",
        "the operator = for double precision[] in a condition",
        "Keep",
    ),
    "count(*) FILTER (WHERE z = '10:00+01')": ("=", "the operator = for time with time zone in a", "Keep"),
    "count(*) FILTER (WHERE s SIMILAR TO 'a%')": ("SIMILAR", "SIMILAR TO in a condition", "Keep"),
    "min(s || a)": (
        "||",
        "depends on the clock or the session through the operator ||",
        "Join texts with ||",
    ),
    "bool_or(s @@ 'a')": ("@@", "depends on the clock or the session through the operator @@", "Write"),
    "min(s::float8[] || 1)": (
        "float8",
        "a conversion between text and double precision[]",
        "Leave the value",
    ),
    "count(j #- '{a}')": ("", "the operator #-", "Keep its value"),
}
"""A piece of a select list: where the error points, what it says, and what the HINT begins with."""


@pytest.mark.parametrize("piece", REFUSED)
def test_a_refusal_names_what_the_user_wrote(user: psycopg.Connection, piece: str) -> None:
    place, message, hint = REFUSED[piece]
    user.execute(
        "CREATE TABLE IF NOT EXISTS types (s text, a int, i interval, f float8[], z timetz, j jsonb)"
    )
    statement = f"CREATE STANDING QUERY q AS SELECT {piece} AS n FROM types"
    found = refused(user, statement)
    assert found.sqlstate == "0A000"
    assert message in found.message
    assert hint in found.hint
    if place:
        assert statement[found.position - 1 :].startswith(place)


def test_the_first_of_several_rows_by_a_type_without_an_order(user: psycopg.Connection) -> None:
    user.execute("CREATE TABLE sorted_by (a int, f float8[])")
    found = refused(
        user,
        "CREATE STANDING QUERY q AS SELECT a, (SELECT y.a FROM sorted_by y WHERE y.a <> x.a "
        "ORDER BY y.f LIMIT 1) AS b FROM sorted_by x",
    )
    assert found.message.endswith("the first of several rows by values of type double precision[]")


@pytest.mark.parametrize(
    "drop", ["DROP TABLE q", "DROP TABLE q CASCADE", "DROP TABLE q, gone", "DROP SCHEMA apart CASCADE"]
)
def test_what_drops_a_result_says_that_its_query_goes(user: psycopg.Connection, drop: str) -> None:
    user.execute(f"CREATE STANDING QUERY q {BODY}".encode())
    user.execute("CREATE TABLE gone (a int)")
    if "apart" in drop:
        user.execute("CREATE SCHEMA apart; ALTER STANDING QUERY q SET SCHEMA apart")
    name = "apart.q" if "apart" in drop else "public.q"
    assert f"drop cascades to standing query {name}" in notices(user, drop)
    assert user.execute("SELECT FROM gavial.queries").fetchall() == []
    user.execute("DROP TABLE IF EXISTS gone")


def test_what_drops_a_table_says_which_queries_go(user: psycopg.Connection) -> None:
    user.execute("CREATE TABLE read (a int PRIMARY KEY)")
    user.execute("CREATE STANDING QUERY q AS SELECT a FROM read WITH NO DATA")
    told = notices(user, "DROP TABLE read CASCADE")
    assert [words for words in told if "drop cascades" in words] == [
        "drop cascades to standing query public.q"
    ]


def test_to_drop_a_query_by_its_name_needs_no_remark(user: psycopg.Connection) -> None:
    user.execute(f"CREATE STANDING QUERY q {BODY}".encode())
    assert notices(user, "DROP STANDING QUERY q") == []


def test_no_routine_of_ours_is_named_in_what_statements_of_ours_say(user: psycopg.Connection) -> None:
    contexts: list[str | None] = []
    user.add_notice_handler(lambda told: contexts.append(told.context))
    user.execute(f"CREATE STANDING QUERY q {BODY}".encode())
    user.execute("CREATE VIEW dependent AS TABLE q")
    for statement in (
        "DROP STANDING QUERY q",
        "CREATE STANDING QUERY q AS SELECT 1 AS one WITH NO DATA",
        "ALTER STANDING QUERY q RENAME TO orders",
        "REFRESH STANDING QUERY missing",
        "VERIFY STANDING QUERY missing",
        "EXPLAIN STANDING QUERY missing",
    ):
        with pytest.raises(psycopg.Error) as failed:
            user.execute(statement.encode())
        contexts.append(failed.value.diag.context)
    with pytest.raises(psycopg.errors.LockNotAvailable) as given_up, session_of(user) as other:
        other.execute("BEGIN; LOCK TABLE gavial.runs IN EXCLUSIVE MODE")
        user.execute("SET lock_timeout = '200ms'")
        try:
            user.execute("REFRESH STANDING QUERY q")
        finally:
            user.execute("RESET lock_timeout")
    contexts.append(given_up.value.diag.context)
    assert set(contexts) == {None}
    user.execute("DROP VIEW dependent")


def session_of(connection: psycopg.Connection) -> psycopg.Connection:
    """Another session in the same database."""
    return session(f"{connection.info.dsn} password={connection.info.password}")


def test_a_trigger_is_shown_as_postgresql_writes_intervals(user: psycopg.Connection) -> None:
    given = "every day or every 90 minutes or at 06:00"
    user.execute(f"CREATE STANDING QUERY q WITH (TRIGGER = '{given}') {BODY}".encode())
    shown = "every 1 day or every 01:30:00 or at 06:00"
    trigger = "SELECT trigger FROM gavial.shown WHERE name = 'q'"
    assert one(user, trigger) == shown
    explained = [line for (line,) in user.execute("EXPLAIN STANDING QUERY q")]
    assert f"  Option: TRIGGER = {shown}" in explained
    older = "every 86400 s or every 5400 s or every 0.5 s or every 10 rows or at 06:00"
    user.execute("UPDATE gavial.queries SET options = jsonb_build_object('TRIGGER', %s::text)", (older,))
    user.execute("SET IntervalStyle = 'iso_8601'")
    with user.transaction():
        user.execute(MIGRATION.read_bytes())
    assert one(user, trigger) == (
        "every 1 day or every 01:30:00 or every 00:00:00.5 or every 10 rows or at 06:00"
    )


@pytest.mark.parametrize(
    ("refused_as", "way_out"),
    [
        ("date_trunc('day', z)", "date_trunc('day', z AT TIME ZONE 'UTC')"),
        ("extract(hour FROM z)", "extract(hour FROM z AT TIME ZONE 'UTC')"),
        ("z::date", "(z AT TIME ZONE 'UTC')::date"),
        ("z::timestamp", "z AT TIME ZONE 'UTC'"),
        ("z + '1 day'::interval", "(z AT TIME ZONE 'UTC') + '1 day'::interval"),
        ("z > d", "z AT TIME ZONE 'UTC' > d"),
        ("d::timestamptz", "d::timestamp AT TIME ZONE 'UTC'"),
        ("s::timestamptz", "s AT TIME ZONE 'UTC'"),
    ],
)
def test_the_way_around_the_zone_of_the_session(
    user: psycopg.Connection, refused_as: str, way_out: str
) -> None:
    found = refused(user, f"CREATE STANDING QUERY q AS SELECT {refused_as} AS x FROM times WITH NO DATA")
    assert found.sqlstate == "0A000"
    assert found.message.startswith("cannot maintain a query that depends on the clock or the session")
    assert "AT TIME ZONE 'UTC'" in found.hint
    user.execute(f"CREATE STANDING QUERY q AS SELECT {way_out} AS x FROM times WITH NO DATA".encode())


@pytest.mark.parametrize("clock", ["now()", "age(z)", "to_char(z, 'YYYY')", "current_date"])
def test_what_no_zone_helps_has_another_hint(user: psycopg.Connection, clock: str) -> None:
    found = refused(user, f"CREATE STANDING QUERY q AS SELECT {clock} AS x FROM times WITH NO DATA")
    assert found.sqlstate == "0A000" and "TIME ZONE" not in found.hint
