"""What is ours in a string of SQL, and what stands in its place (G24)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.errors import MalformedStatement
from dialect.statements.request import call_for, refusal
from dialect.statements.rewrite import original_place, rewrite
from dialect.statements.statement import DropStandingQuery, Name, ShowVersion
from dialect.statements.tokens import statements

OURS = "SHOW gavial.version"
INSTEAD = call_for(ShowVersion())


def positions(text: str) -> int:
    """How many times a rewriting of `text` stands in for a statement of ours; the rest must be as it was."""
    after = rewrite(text.encode(), "UTF8")
    if after is None:
        return 0
    grown = sum(edit.growth for edit in after.edits)
    assert len(after.query.decode()) == len(text) + grown
    return after.query.decode().count(INSTEAD)


@pytest.mark.parametrize(
    "text",
    [
        OURS,
        "show gavial.version",
        " ShOw  gavial . VERSION ;",
        "/* a; */ show -- b; c\n gavial /* /* nested */ */ . version",
        'show "gavial"."version"',
        "select 1; show gavial.version; select 2",
        "select 'é'; show gavial.version",
        "begin; show gavial.version; commit",
        "select $$ ; $$; show gavial.version",
    ],
)
def test_ours_is_found(text: str) -> None:
    assert positions(text) == 1


@pytest.mark.parametrize(
    "text",
    [
        "select 'show gavial.version'",
        'select 1 as "show gavial.version"',
        "-- show gavial.version",
        "/* ; show gavial.version ; */ select 1",
        "select $$;show gavial.version;$$",
        "do $x$begin perform 1; show gavial.version; end$x$",
        "show gavial.version.x",
        "show gavial.versions",
        "show gavial",
        "explain show gavial.version",
        "prepare p as show gavial.version",
        "select 'unfinished; show gavial.version",
        "/* unfinished ; show gavial.version",
        "create rule r as on insert to t do (select 1; show gavial.version)",
        "create function f() returns int begin atomic select 1; show gavial.version; end",
        "create function f() returns int begin atomic select case when a then 1 end;show gavial.version; end",
        "create temp table standing(query int)",
        "select 1 as standing, 2 query",
    ],
)
def test_everything_else_is_left_alone(text: str) -> None:
    assert rewrite(text.encode(), "UTF8") is None


def test_two_of_ours_in_one_string() -> None:
    assert positions("show gavial.version; select 'show gavial.version'; show gavial.version") == 2


fillers = st.sampled_from(
    [
        "select 1",
        "select ';'",
        "select $q$;show gavial.version;$q$",
        "/* ; */ select 2",
        "-- x;\nselect 3",
        "",
    ]
)


@given(st.lists(st.one_of(fillers, st.just(OURS)), max_size=6))
def test_a_mix_is_rewritten_exactly_where_ours_is(statements: list[str]) -> None:
    expected = "; ".join(INSTEAD if statement == OURS else statement for statement in statements)
    after = rewrite("; ".join(statements).encode(), "UTF8")
    assert (after.query if after else None) == (expected.encode() if OURS in statements else None)


@pytest.mark.parametrize(
    ("encoding", "codec"), [("SJIS", "cp932"), ("GBK", "gbk"), ("BIG5", "big5"), ("LATIN1", "latin-1")]
)
def test_the_sessions_encoding_decides_what_is_a_quote(encoding: str, codec: str) -> None:
    word = {"SJIS": "表", "GBK": "誠", "BIG5": "功", "LATIN1": "é"}[encoding]
    text = f"select '{word}'; show gavial.version; select '{word}'".encode(codec)
    after = rewrite(text, encoding)
    assert after is not None
    assert after.query == f"select '{word}'; {INSTEAD}; select '{word}'".encode(codec)


def test_bytes_that_are_no_text_in_the_sessions_encoding_pass() -> None:
    assert rewrite(b"select '\xff'; show gavial.version", "UTF8") is None
    assert rewrite(b"show gavial.version", "MULE_INTERNAL") is None


def test_what_does_not_fit_grows_and_places_behind_it_are_found_again() -> None:
    text = "select 'é'; drop standing query q; select nope; verify standing query q; select more"
    after = rewrite(text.encode(), "UTF8")
    assert after is not None
    new = after.query.decode()
    assert new.startswith("select 'é'; CALL gavial.perform(")
    for piece in ("select 'é'", "select nope", "select more"):
        assert original_place(new.index(piece), after.edits) == text.index(piece)


@given(st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), max_size=30))
def test_a_refusal_is_one_statement_whatever_its_words(words: str) -> None:
    error = MalformedStatement(words, hint=words, detail=words, position=7)
    (statement,) = statements(refusal(error))
    assert statement[0].word == "DO"
    assert len(statement) == 2


@given(
    st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), min_size=1, max_size=30)
)
def test_a_request_is_one_call_whatever_its_names(name: str) -> None:
    (statement,) = statements(call_for(DropStandingQuery((Name(None, name),))))
    assert [token.word for token in statement[:4]] == ["CALL", "GAVIAL", ".", "PERFORM"]
    assert statement[-1].text == ")"
