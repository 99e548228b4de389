"""What random standing queries are made of, compared by and cut with."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.planning.freedom import contrasts, unlike, unwitnessed
from tests.support.shrinking import shrink, without_some
from tests.support.standing.cases import (
    Case,
    Change,
    Column,
    Insert,
    Query,
    Restart,
    Table,
    Update,
    read_cases,
    script,
)
from tests.support.standing.expressions import OF_FAMILIES, templates
from tests.support.standing.fuzzing import KNOWN_BUGS, SOUND, features_of, random_case, replaying
from tests.support.standing.kinds import KINDS
from tests.support.standing.sweep import sweep
from tests.support.standing.values import Feature, quoted

EVERY = frozenset(Feature)


def test_rows_differ_by_text_but_in_free_columns() -> None:
    assert unlike([("1", "1.0")], [("1", "1.0")]) == ([], [])
    assert unlike([("1", "1.0")], [("1", "1.00")]) == ([("1", "1.0")], [("1", "1.00")])
    assert unlike([("1", "1.0")], [("1", "1.00")], {1: frozenset()}) == ([], [])
    assert unlike([("1", "a")], [("2", "a")], {1: frozenset()}) == ([("1", "*")], [("2", "*")])


def test_rows_are_counted() -> None:
    assert unlike([("1",), ("1",)], [("1",)]) == ([("1",)], [])
    assert unlike([], [(None,), (None,)]) == ([], [(None,), (None,)])


def test_columns_that_differ_are_told_where_rows_can_be_paired() -> None:
    missing, superfluous = ("1", "a", "b"), ("1", "a", "c")
    assert contrasts([missing], [superfluous]) == {2: (missing, superfluous)}
    assert contrasts([missing], []) is None
    assert contrasts([missing], [("2", "a", "b")]) is None


def test_a_free_column_shows_what_a_witness_writes() -> None:
    witnesses = {0: frozenset(("1.0", "1.00"))}
    assert unwitnessed([("1.0",)], [("1.00",)], witnesses) == []
    assert unwitnessed([("1.0",)], [("1.000",)], witnesses) == [(0, "1.000")]


@pytest.mark.parametrize("seed", range(20))
def test_a_script_is_read_as_it_was_written(seed: int) -> None:
    text = script(random_case(seed, EVERY))
    [read] = read_cases(text)
    assert script(read) == text


def test_a_sweep_has_all_kinds_and_can_be_written() -> None:
    cases = tuple(sweep(EVERY))
    assert [case.title for case in cases] == [kind.name for kind in KINDS]
    for case in cases:
        [read] = read_cases(script(case))
        assert script(read) == script(case)


def test_cases_of_a_seed_are_the_same() -> None:
    assert random_case(7, SOUND) == random_case(7, SOUND)


def test_what_is_switched_off_is_not_generated() -> None:
    for seed in range(40):
        text = script(random_case(seed, frozenset()))
        assert "GENERATED ALWAYS AS (" not in text
        assert "PARTITION" not in text
        assert "timetz" not in text


def test_all_families_have_templates() -> None:
    assert {kind.family for kind in KINDS} == set(OF_FAMILIES)
    assert all(set(templates(family, frozenset())) for family in OF_FAMILIES)


def test_features_by_name() -> None:
    assert features_of("all") == EVERY
    assert features_of("sound") == EVERY - set(KNOWN_BUGS)
    assert features_of("padding,SCALE") == {Feature.PADDING, Feature.SCALE}


def test_what_is_found_tells_how_to_play_it_again() -> None:
    findings = [
        "seed 7: rows, q1, step -1: ...",
        "seed 7: text, q2, step 0: ...",
        "seed 9: log, , step 1: ...",
    ]
    assert replaying(findings, 15).splitlines() == [
        "scripts/fuzz-standing --seed 7 --seeds 1 --postgres 15",
        "scripts/fuzz-standing --seed 9 --seeds 1 --postgres 15",
    ]


def test_literals_are_on_one_line() -> None:
    assert quoted("a\nb", "text") == r"E'a\u000ab'::text"
    assert quoted("\\x00", "bytea") == r"E'\\x00'::bytea"
    assert quoted("it's", "name") == "'it''s'::name"


@given(st.sets(st.integers(0, 30)))
def test_without_some_finds_what_is_needed(needed: set[int]) -> None:
    kept = without_some(tuple(range(31)), lambda items: needed <= set(items))
    assert set(kept) == needed


def test_a_case_is_cut_to_what_fails() -> None:
    columns = (Column("id", "integer"), Column("a", "text"), Column("b", "text"))
    rows = tuple(
        Insert("t", (("id", str(number)), ("a", "'x'"), ("b", f"'{number}'"))) for number in range(9)
    )
    case = Case(
        "all",
        (Table("t", columns), Table("s", columns)),
        (*rows, replace(rows[0], table="s")),
        (
            Query("q1", ("t.id", "t.a", "t.b"), " FROM t"),
            Query("q2", ("s.id",), " FROM s"),
        ),
        (Change((Update("t", (("a", "'y'"), ("b", "'z'")), "id = 3"), rows[4])), Restart(False)),
        ("CREATE TYPE mood AS ENUM ('a')",),
    )

    def fails(cut: Case) -> bool:
        reads_b = any(query.name == "q1" and "t.b" in query.targets for query in cut.queries)
        has_row = any(isinstance(step, Insert) and ("b", "'3'") in step.values for step in cut.fill)
        changed = any(isinstance(step, Change) and "'z'" in script(cut) for step in cut.steps)
        return reads_b and has_row and changed

    left = shrink(case, "q1", fails, 500)
    assert script(left).splitlines() == [
        "--- case: all",
        "CREATE TABLE t (b text);",
        "INSERT INTO t (b) VALUES ('3');",
        "--- query: q1",
        "SELECT t.b FROM t;",
        "--- change",
        "UPDATE t SET b = 'z' WHERE id = 3;",
    ]
    assert shrink(case, "q1", fails, 500, until=time.monotonic() - 1) == case


def test_kept_cases_can_be_read() -> None:
    cases = read_cases(Path(__file__).with_name("standing.cases.sql").read_text())
    assert all(case.queries and case.fill for case in cases)
    assert len({case.title for case in cases}) == len(cases)
