"""Canonical texts recorded from PostgreSQL are bound as recorded, types included (G8)."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from catalog.errors import FeatureNotSupported, StatementTooComplex
from catalog.postgres.schema import Column
from catalog.postgres.types import DATE, FLOAT8, INT4, INT8, NUMERIC, SqlType
from dialect.binding.bind import bind
from dialect.binding.canonical_text import read_query
from tests.support.binding.cases import FOLDER, Snapshot, read_snapshot, recorded, statements

CASES = [
    pytest.param(path, number, id=f"{path.stem}-{number}")
    for path in sorted((*FOLDER.glob("*/*.bound"), *FOLDER.glob("*.bound")))
    for number in range(len(recorded(path)))
]


@functools.cache
def snapshot() -> Snapshot:
    return read_snapshot()


@pytest.mark.parametrize(("path", "number"), CASES)
def test_as_recorded(path: Path, number: int) -> None:
    case = recorded(path)[number]
    assert snapshot().bind(case.canonical, case.columns) == case.bound


def test_every_statement_is_recorded() -> None:
    paths = [path for path in FOLDER.rglob("*.sql") if path.stem != "tables"]
    assert paths
    for path in paths:
        assert len(recorded(path)) == len(statements(path)), path


def test_only_what_should_be_refused_is() -> None:
    for path in FOLDER.rglob("*.bound"):
        for case in recorded(path):
            assert case.bound.startswith(("0A000: ", "42P22: ")) == (path.stem == "refused"), case.canonical


@pytest.mark.parametrize(
    "column",
    [Column("b", SqlType(INT4)), Column("a", SqlType(INT8)), Column("a", SqlType(INT4, 7))],
    ids=["name", "type", "modifier"],
)
def test_the_view_has_the_last_word(column: Column) -> None:
    """A column that PostgreSQL sees otherwise is an error, whatever the reason."""
    with pytest.raises(FeatureNotSupported, match="not understood as PostgreSQL"):
        bind("SELECT 1 AS a", {}, snapshot().signatures, (column,))


def test_a_column_too_many() -> None:
    with pytest.raises(FeatureNotSupported, match="not understood as PostgreSQL"):
        bind("SELECT 1 AS a, 2 AS b", {}, snapshot().signatures, (Column("a", SqlType(INT4)),))


@pytest.mark.parametrize(
    ("text", "differing"),
    [
        ("SELECT interval '1 day' AS a", "the constant '1 day'"),
        ("SELECT a ^@ b AS a", "the operator ^@"),
        ("SELECT xmlelement(name a) AS a", "XMLELEMENT"),
        ("SELECT 1 AS", ""),
        ("SELECT 1 AS a; SELECT 2 AS a", ""),
        ("DELETE FROM public.things", ""),
    ],
)
def test_two_parsers_must_agree(text: str, differing: str) -> None:
    """What sqlglot cannot read as PostgreSQL does is refused, and the piece is named."""
    with pytest.raises(FeatureNotSupported) as refusal:
        read_query(text)
    assert differing in refusal.value.message


@pytest.mark.parametrize(
    ("expression", "oid"),
    [
        ("1 - 2 - 3", INT4),
        ("1 - (2 - 3)", INT4),
        ("2 ^ 3 ^ 2", FLOAT8),
        ("- 2 ^ 2", FLOAT8),
        ("1 + 2.0 * 3", NUMERIC),
    ],
)
def test_structure_is_compared_not_spelling(expression: str, oid: int) -> None:
    """Where brackets are missing, both parsers group alike, or the text is refused."""
    view = (Column("a", SqlType(oid)),)
    try:
        bind(f"SELECT {expression} AS a", {}, snapshot().signatures, view)
    except FeatureNotSupported as refusal:
        assert "cannot be sure to read" in refusal.message


def test_brackets_without_end() -> None:
    """Depth is limited by an error, not by a crash."""
    text = f"SELECT {'(' * 3000}1{' + 1)' * 3000} AS a"
    with pytest.raises(StatementTooComplex):
        bind(text, {}, snapshot().signatures, (Column("a", SqlType(INT4)),))


def test_a_hundred_brackets() -> None:
    text = f"SELECT {'(' * 100}1{' + 1)' * 100} AS a"
    bind(text, {}, snapshot().signatures, (Column("a", SqlType(INT4)),))


def test_a_long_list_of_conditions_is_not_deep() -> None:
    text = f"SELECT {' OR '.join(['(1 = 2)'] * 2000)} AS a"
    bind(text, {}, snapshot().signatures, (Column("a", SqlType(16)),))


@pytest.mark.parametrize(
    ("expression", "oid", "wide"),
    [
        ("(1.5 + 'NaN'::numeric)", NUMERIC, True),
        ("(1.5 + '2.5'::numeric)", NUMERIC, False),
        ("('-Infinity'::numeric)::integer", INT4, False),
        ("GREATEST('2000-01-01'::date, 'infinity'::date)", DATE, True),
        ("('infinity'::timestamp without time zone)::date", DATE, True),
    ],
)
def test_what_is_computed_of_nan_or_an_infinity_is_wide(expression: str, oid: int, wide: bool) -> None:
    query = bind(f"SELECT {expression} AS a", {}, snapshot().signatures, (Column("a", SqlType(oid)),))
    assert [column.type.wide for column in query.columns] == [wide]
