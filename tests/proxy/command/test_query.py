"""Which query a command line means, and what is asked of the server for it."""

from __future__ import annotations

import pytest
from click import UsageError
from hypothesis import given
from hypothesis import strategies as st
from psycopg.sql import Composable

from catalog.errors import ConfigurationError, Error, MalformedStatement
from proxy.command.options.query import from_text, is_file


@pytest.mark.parametrize("query", ["-", "q.sql", "Q.SQL", "./q", "/tmp/q", "a/b.sql"])
def test_a_file(query: str) -> None:
    assert is_file(query)


@pytest.mark.parametrize("query", ["q", "public.q", '"My Query"', "sql", "q.sqlx"])
def test_a_name(query: str) -> None:
    assert not is_file(query)


def text_of(statement: Composable) -> str:
    return statement.as_string(None)


def test_a_select_is_made_a_query() -> None:
    found = from_text("-- why\nSELECT 1; \n", {"FINAL_WORK": "0.2", "EXPECT": "t 'x'"})
    head = "CREATE STANDING QUERY \"query\" WITH (FINAL_WORK = '0.2', EXPECT = 't ''x''') AS "
    assert text_of(found.statement) == head
    assert (found.text, found.begin) == ("-- why\nSELECT 1", 0)
    assert text_of(from_text("SELECT 1", {}).statement) == 'CREATE STANDING QUERY "query" AS '


def test_a_statement_of_ours_stays_as_it_is() -> None:
    written = "-- why\nCREATE STANDING QUERY q AS SELECT 1;\n"
    found = from_text(written, {})
    assert text_of(found.statement) == ""
    assert found.text == "CREATE STANDING QUERY q AS SELECT 1"
    assert written[found.begin :].startswith(found.text)
    with pytest.raises(UsageError, match="the file has options of its own"):
        from_text(written, {"FINAL_WORK": "0.2"})


@pytest.mark.parametrize("written", ["", "  \n", ";"])
def test_nothing_is_no_query(written: str) -> None:
    with pytest.raises(ConfigurationError, match="there is no query in it"):
        from_text(written, {})


@pytest.mark.parametrize(
    "written",
    [
        "CREATE STANDING QUERY a AS SELECT 1; CREATE STANDING QUERY b AS SELECT 2",
        "DROP STANDING QUERY a",
        "REFRESH STANDING QUERY a",
        "CREATE STANDING QUERY a AS SELECT 1; SELECT 2",
        "SELECT 1; SELECT 2",
        "DROP TABLE t",
        "EXPLAIN SELECT 1",
    ],
)
def test_what_is_more_than_one_query_or_something_else_is_refused(written: str) -> None:
    with pytest.raises(MalformedStatement):
        from_text(written, {})


@given(st.text(alphabet="SELECT CRATEDINGQUYas();'\"$-/*1 \n", max_size=60))
def test_any_text_is_a_query_or_refused(written: str) -> None:
    try:
        found = from_text(written, {})
    except (Error, UsageError):
        return
    assert found.text in written
