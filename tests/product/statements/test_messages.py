"""What statements of ours say beside doing what they are asked for, and about a user's ordinary mistakes."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.support.running.servers import Gavial
from tests.support.running.standing_databases import fresh_database, session

pytestmark = pytest.mark.service


@pytest.fixture(scope="module", params=[15, 18])
def dsn(request: pytest.FixtureRequest) -> Iterator[str]:
    proxy: Gavial = request.getfixturevalue(f"gavial{request.param}")
    with fresh_database(proxy) as made:
        with session(made) as connection:
            connection.execute("CREATE TABLE orders (id int PRIMARY KEY, total int)")
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
        said.append(notice.message_primary or "")

    connection.add_notice_handler(listen)
    connection.execute(statement.encode())
    connection.remove_notice_handler(listen)
    return said


NOT_COMPUTED = "the result of standing query public.q is not computed yet"
BODY = "AS SELECT total, count(*) AS n FROM orders GROUP BY total WITH NO DATA"


def test_an_option_without_effect_is_said_to_have_none_once(user: psycopg.Connection) -> None:
    both = "options SHARING, MEMORY_BUDGET have no effect yet"
    create = f"CREATE STANDING QUERY q WITH (SHARING = on, FINAL_WORK = 1, MEMORY_BUDGET = '1GB') {BODY}"
    assert notices(user, f"EXPLAIN {create}") == [both]
    assert notices(user, create) == [both, NOT_COMPUTED]
    assert notices(user, create.replace("CREATE", "CREATE OR REPLACE")) == [both, NOT_COMPUTED]
    one = ["option MEMORY_BUDGET has no effect yet"]
    assert notices(user, "ALTER STANDING QUERY q SET (MEMORY_BUDGET = 0)") == one
    assert notices(user, "EXPLAIN (COSTS, STATE, SHARING) STANDING QUERY q") == [
        "options COSTS, SHARING, STATE have no effect yet"
    ]
    assert notices(user, f"EXPLAIN (STATE) CREATE STANDING QUERY r {BODY}") == [
        "option STATE has no effect yet"
    ]


def test_what_has_an_effect_is_not_remarked_upon(user: psycopg.Connection) -> None:
    create = f"CREATE STANDING QUERY q WITH (MAX_PACE = 5, METHOD = auto) {BODY}"
    assert notices(user, create) == [NOT_COMPUTED]
    assert notices(user, "ALTER STANDING QUERY q SET (MAX_PACE = 7)") == []
    assert notices(user, "ALTER STANDING QUERY q RESET (MEMORY_BUDGET)") == []
    assert notices(user, "EXPLAIN (VERBOSE, COSTS off) STANDING QUERY q") == []
