"""Statements of ours: what is said is read, what is written back means the same, errors have places."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.errors import Error
from dialect.statements.options import Setting
from dialect.statements.parse import COMPARED_WITH, find_ours
from dialect.statements.statement import (
    Alteration,
    AlterStandingQuery,
    ChangeOwner,
    ChangeSchema,
    CommentOnStandingQuery,
    CreateStandingQuery,
    DropStandingQuery,
    ExplainStandingQuery,
    Name,
    Query,
    RefreshStandingQuery,
    Rename,
    ResetOptions,
    Resume,
    SetOptions,
    ShowStandingQueries,
    ShowVersion,
    Statement,
    Suspend,
    VerifyStandingQuery,
)
from tests.support.statement_text import render


def parsed(text: str) -> Statement:
    (found,) = find_ours(text)
    assert not isinstance(found.statement, Error), (text, found.statement.message)
    return found.statement


def refused(text: str) -> Error:
    (found,) = find_ours(text)
    assert isinstance(found.statement, Error), text
    return found.statement


characters = st.characters(blacklist_characters="\0", blacklist_categories=["Cs"])
identifiers = st.one_of(
    st.sampled_from(["q", "select", "Daily", "a b", 'with"quote', "standing", "é", "x.y"]),
    st.text(characters, min_size=1, max_size=12),
)
names = st.builds(Name, st.one_of(st.none(), identifiers), identifiers)
several = st.lists(names, min_size=1, max_size=3).map(tuple)
settings = st.lists(
    st.sampled_from(
        [
            Setting("FINAL_WORK", "0.05"),
            Setting("MEMORY_BUDGET", "512MB"),
            Setting("MEMORY_BUDGET", "unlimited"),
            Setting("TRIGGER", "at 06:00"),
            Setting("TRIGGER", "every 00:10:00 or on demand"),
            Setting("EXPECT", "orders 1000000, lineitem 4"),
            Setting("MAX_PACE", 7),
            Setting("PACES", "uniform"),
            Setting("METHOD", "recompute"),
            Setting("SHARING", False),
        ]
    ),
    max_size=4,
    unique_by=lambda setting: setting.name,
).map(tuple)
queries = st.sampled_from(
    [
        "SELECT 1",
        "WITH a AS (SELECT 1) SELECT * FROM a",
        "SELECT ';', $$ WITH (FINAL_WORK=1) $$ FROM t ORDER BY x FETCH FIRST 2 ROWS WITH TIES",
        "SELECT '2020-01-01'::timestamp with time zone, (SELECT 1 -- WITH (a)\n)",
        "SELECT * FROM unnest(array[1]) WITH ORDINALITY",
        "VALUES (1), (2)",
        "TABLE t",
    ]
).map(Query)
creates = st.builds(
    lambda name, query, columns, given_settings, how, with_data: CreateStandingQuery(
        name, query, columns, given_settings, how == "replace", how == "if not exists", with_data
    ),
    names,
    queries,
    st.lists(identifiers, max_size=2).map(tuple),
    settings,
    st.sampled_from(["", "replace", "if not exists"]),
    st.booleans(),
)
changes: st.SearchStrategy[Alteration] = st.one_of(
    settings.filter(bool).map(SetOptions),
    st.lists(st.sampled_from(["FINAL_WORK", "TRIGGER"]), min_size=1, max_size=2).map(tuple).map(ResetOptions),
    st.just(Suspend()),
    st.just(Resume()),
    identifiers.map(Rename),
    identifiers.map(ChangeOwner),
    st.just(ChangeOwner("CURRENT_USER", word=True)),
    identifiers.map(ChangeSchema),
)
statements: st.SearchStrategy[Statement] = st.one_of(
    creates,
    st.builds(AlterStandingQuery, names, changes, st.booleans()),
    st.builds(DropStandingQuery, several, st.booleans(), st.booleans()),
    st.builds(RefreshStandingQuery, several),
    st.builds(VerifyStandingQuery, names, st.sampled_from([None, *COMPARED_WITH])),
    st.builds(ShowStandingQueries, names),
    st.builds(ShowStandingQueries, st.none(), st.booleans()),
    st.just(ShowVersion()),
    st.builds(
        ExplainStandingQuery,
        st.one_of(names, creates),
        st.frozensets(st.sampled_from(["ANALYZE", "VERBOSE", "COSTS", "STATE", "SHARING", "CURVE"])).filter(
            lambda options: "CURVE" not in options or "COSTS" in options
        ),
        st.sampled_from(["TEXT", "JSON", "DOT"]),
    ),
    st.builds(CommentOnStandingQuery, names, st.one_of(st.none(), st.text(characters, max_size=20))),
)


@given(statements)
def test_what_is_written_is_read_back(statement: Statement) -> None:
    assert parsed(render(statement)) == statement


noise = st.sampled_from([" ", "\n", "\t", " /* ; */ ", " -- standing query\n", " /* /* nested */ */ "])


@given(statements, st.data())
def test_white_space_comments_and_case_do_not_matter(statement: Statement, data: st.DataObject) -> None:
    text = render(statement)
    if isinstance(statement, CreateStandingQuery | ExplainStandingQuery):
        head, space, rest = text.partition("STANDING QUERY")
    else:
        head, space, rest = text.partition(" ")
    head = "".join(data.draw(noise) if character == " " else character.lower() for character in head)
    assert parsed(data.draw(noise) + head + data.draw(noise) + space + rest + data.draw(noise)) == statement


@given(
    st.lists(st.one_of(statements.map(render), st.sampled_from(["SELECT 1", "BEGIN", "COMMIT"])), max_size=5)
)
def test_ours_are_found_among_others_where_they_stand(texts: list[str]) -> None:
    text = ";".join(texts)
    found = find_ours(text)
    expected = [text for text in texts if text not in ("SELECT 1", "BEGIN", "COMMIT")]
    assert [text[statement.start : statement.end] for statement in found] == expected


CREATE = "CREATE STANDING QUERY q WITH ({}) AS SELECT 1"


@pytest.mark.parametrize(
    ("option", "sqlstate", "at", "hint"),
    [
        ("FINAL_WRK=0.05", "22023", "FINAL_WRK", "Perhaps you meant FINAL_WORK."),
        ("FINAL_WORK=0", "22023", "0", "greater than 0"),
        ("FINAL_WORK", "22023", "FINAL_WORK", "such as 0.05"),
        ("FINAL_WORK=1.5", "22023", "1.5", "at most 1"),
        ("FINAL_WORK='abc'", "22023", "'abc'", "such as 0.05"),
        ("FINAL_WORK=-1", "22023", "-1", "greater than 0"),
        ("FINAL_WORK='NaN'", "22023", "'NaN'", "greater than 0"),
        ("FINAL_WORK=0.1, final_work=0.2", "22023", "final_work", None),
        ("FINAL_WORK=0.1, LATENCY_GOAL='5 s'", "22023", "LATENCY_GOAL", "one of them"),
        ("LATENCY_GOAL='1 month'", "22023", "'1 month'", "'5 s'"),
        ("MEMORY_BUDGET='12 parsecs'", "22023", "'12 parsecs'", "'512MB'"),
        ("MEMORY_BUDGET=3000", "22023", "3000", "with its unit"),
        ("MEMORY_BUDGET='5 12MB'", "22023", "'5 12MB'", "with its unit"),
        ("MEMORY_BUDGET='-1GB'", "22023", "'-1GB'", "with its unit"),
        ("MEMORY_BUDGET='9999999PB'", "22023", "'9999999PB'", "with its unit"),
        ("TRIGGER='every 99999999999999999999 rows'", "22023", "'every 99999999999999999999 rows'", "cron"),
        ("TRIGGER='every \u0661\u0660 rows'", "22023", "'every \u0661\u0660 rows'", "cron"),
        ("MAX_PACE='1_0'", "22023", "'1_0'", "whole number"),
        ("FINAL_WORK='0_1e-1'", "22023", "'0_1e-1'", "such as 0.05"),
        ("TRIGGER='whenever'", "22023", "'whenever'", "'at 06:00'"),
        ("TRIGGER='at 25:00'", "22023", "'at 25:00'", "'at 06:00'"),
        ("TRIGGER='61 * * * *'", "22023", "'61 * * * *'", "cron"),
        ("TRIGGER='0 6 30 feb *'", "22023", "'0 6 30 feb *'", "cron"),
        ("TRIGGER='0 6 31 4,6,9,11 *'", "22023", "'0 6 31 4,6,9,11 *'", "cron"),
        ("MAX_PACE=0", "22023", "0", "whole number"),
        ("PACES=each", "22023", "each", "auto, uniform, leaf"),
        ("PACES", "22023", "PACES", "auto, uniform, leaf"),
        ("METHOD=magic", "22023", "magic", "recompute"),
        ("METHOD=first_order", "22023", "first_order", "auto, linear, combine, recompute"),
        ("SHARING='perhaps'", "22023", "'perhaps'", "on or off"),
        ("EXPECT='orders'", "22023", "'orders'", "orders 1000000"),
    ],
)
def test_a_wrong_option_is_named_placed_and_helped(
    option: str, sqlstate: str, at: str, hint: str | None
) -> None:
    text = CREATE.format(option)
    error = refused("SELECT 'é'; " + text)
    assert error.sqlstate == sqlstate
    assert error.position == len("SELECT 'é'; ") + text.rindex(at)
    assert (hint or "") in (error.hint or "")


@pytest.mark.parametrize(
    ("given_value", "meaning"),
    [
        ("MEMORY_BUDGET='64MB'", "64MB"),
        ("MEMORY_BUDGET='1.5 gb'", "1536MB"),
        ("MEMORY_BUDGET=' 2048 MB '", "2GB"),
        ("MEMORY_BUDGET='3000B'", "3000B"),
        ("MEMORY_BUDGET=0", "0"),
        ("MEMORY_BUDGET=unlimited", "unlimited"),
        ("FINAL_WORK=1", "1"),
        ("FINAL_WORK=5e-2", "0.05"),
        ("LATENCY_GOAL='1 hour 30 min'", "5400 s"),
        ("LATENCY_GOAL='00:00:05.5'", "5.5 s"),
        ("TRIGGER='every 10 minutes'", "every 00:10:00"),
        ("TRIGGER='every day'", "every 1 day"),
        ("TRIGGER='every 1.5 s'", "every 00:00:01.5"),
        ("TRIGGER='every 86400 s'", "every 1 day"),
        ("TRIGGER='every week'", "every 7 days"),
        ("TRIGGER='every 1 day 6 hours 30 s'", "every 1 day 06:00:30"),
        ("TRIGGER='every 2 days 00:30'", "every 2 days 00:30:00"),
        ("TRIGGER='EVERY hour OR at 6:05'", "every 01:00:00 or at 06:05"),
        ("TRIGGER='every 1000000 rows'", "every 1000000 rows"),
        ("TRIGGER='0 6 * * mon-fri'", "0 6 * * mon-fri"),
        ("TRIGGER='0 6 29 2 *'", "0 6 29 2 *"),
        ("TRIGGER='0 6 31 2-3 *'", "0 6 31 2-3 *"),
        ("TRIGGER='0 6 31 2 mon'", "0 6 31 2 mon"),
        ("SHARING", True),
        ("SHARING=off", False),
        ("PACES=UNIFORM", "uniform"),
        ("PACES='leaf'", "leaf"),
        ("METHOD=auto", "auto"),
        ("METHOD='Linear'", "linear"),
        ("EXPECT='orders 10,lineitem  40'", "orders 10, lineitem 40"),
    ],
)
def test_a_value_is_read_into_its_canonical_form(given_value: str, meaning: bool | int | str) -> None:
    statement = parsed(CREATE.format(given_value))
    assert isinstance(statement, CreateStandingQuery)
    assert [setting.value for setting in statement.settings] == [meaning]


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("CREATE STANDING QUERY", "at end of input"),
        ("CREATE STANDING QUERY q", "at end of input"),
        ("CREATE STANDING QUERY q AS", "at end of input"),
        ("CREATE STANDING QUERY select AS SELECT 1", '"select"'),
        ("CREATE STANDING QUERY q WITH () AS SELECT 1", '")"'),
        ("CREATE STANDING QUERY q WITH (FINAL_WORK 0.1) AS SELECT 1", '"0.1"'),
        ("CREATE OR REPLACE STANDING QUERY IF NOT EXISTS q AS SELECT 1", '"NOT"'),
        ("CREATE STANDING QUERY q AS SELECT 1 WITH NO DATA WITH (FINAL_WORK=1)", '"WITH"'),
        ("ALTER STANDING QUERY q", "at end of input"),
        ("ALTER STANDING QUERY q EXPLODE", '"EXPLODE"'),
        ("DROP STANDING QUERY q CASCADE RESTRICT", '"RESTRICT"'),
        ("REFRESH STANDING QUERY q, ", "at end of input"),
        ("VERIFY STANDING QUERY a, b", '","'),
        ("VERIFY STANDING QUERY q USING", "at end of input"),
        ("VERIFY STANDING QUERY q USING duckdb", '"duckdb"'),
        ("VERIFY STANDING QUERY q USING SPARK POSTGRES", '"POSTGRES"'),
        ("SHOW STANDING QUERY", "at end of input"),
        ("COMMENT ON STANDING QUERY q IS 5", '"5"'),
        ("CREATE STANDING QUERRY q AS SELECT 1", '"QUERRY"'),
        ("CREATE OR REPLACE STANDING QUREY q AS SELECT 1", '"QUREY"'),
        ("DROP STANDING QUERIES q", '"QUERIES"'),
    ],
)
def test_a_malformed_statement_is_a_syntax_error_at_its_place(text: str, near: str) -> None:
    error = refused(text)
    assert (error.sqlstate, near in error.message) == ("42601", True)
    place = len(text.rstrip()) if near == "at end of input" else text.rindex(near.strip('"'))
    assert error.position == place


@pytest.mark.parametrize(
    "text",
    [
        "CREATE STANDING QUERY q WITH FINAL_WORK=1 AS SELECT 1",
        "ALTER STANDING QUERY q SET FINAL_WORK=1",
        "ALTER STANDING QUERY q RESET FINAL_WORK",
    ],
)
def test_options_without_parentheses_are_helped(text: str) -> None:
    error = refused(text)
    assert error.message == 'syntax error at or near "FINAL_WORK"'
    assert (error.hint or "").startswith("Options stand in parentheses, such as (FINAL_WORK")


def test_what_verify_may_compare_with_is_named() -> None:
    for text in ("VERIFY STANDING QUERY q USING FOO", "VERIFY STANDING QUERY q USING"):
        assert refused(text).hint == "USING takes POSTGRES or SPARK."


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            "CREATE STANDING QUERY q WITH (MEMORY_BUDGET=512MB) AS SELECT 1",
            'trailing junk after numeric literal at or near "512MB"',
            "Write a number with a unit in quotes, such as '512MB'.",
        ),
        ('DROP STANDING QUERY ""', 'zero-length delimited identifier at or near """"', None),
        ("COMMENT ON STANDING QUERY q IS 'é", 'unterminated quoted string at or near "\'é"', None),
    ],
)
def test_what_cannot_be_scanned_is_told_in_a_statement_of_ours(
    text: str, message: str, hint: str | None
) -> None:
    for before in ("", "SELECT 'é'; "):
        (found,) = find_ours(before + text)
        assert (found.start, found.end) == (0, len(before + text))
        assert isinstance(found.statement, Error)
        assert (found.statement.message, found.statement.hint) == (message, hint)
        near = message.partition('near "')[2][:-1]
        assert found.statement.position == len(before) + text.index(near)
    assert find_ours("SELECT 512MB; " + text) == ()


def test_options_may_stand_in_both_places() -> None:
    statement = parsed(
        "create standing query q with (FINAL_WORK = .5) as select 1 with (MAX_PACE=3) with no data"
    )
    assert isinstance(statement, CreateStandingQuery)
    assert [setting.name for setting in statement.settings] == ["FINAL_WORK", "MAX_PACE"]
    assert (statement.query.text, statement.with_data) == ("select 1", False)


def test_names_are_folded_and_cut_as_postgresql_does() -> None:
    statement = parsed('DROP STANDING QUERY Public.Q, "Q", ' + "x" * 70)
    assert isinstance(statement, DropStandingQuery)
    assert statement.names == (Name("public", "q"), Name(None, "Q"), Name(None, "x" * 63))
