"""What Spark leaves to PostgreSQL: the answer is the same, and only what is not exact is left."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.errors import FeatureNotSupported
from catalog.postgres.schema import TableName
from catalog.postgres.types import DEFAULT_COLLATION, TEXT, SqlType
from dialect.expressions.postgres import BUILT_IN, quoted, write
from dialect.expressions.scalar import Call, Cast, CastMethod, Notation, Reference, Scalar
from executors.reference.evaluate import evaluate
from executors.reference.firing import Changes
from executors.reference.rows import computed
from executors.reference.values.values import Bag
from planner.algebra.logical import LogicalQuery
from planner.delta.finish import Finished, finish
from planner.translate.translate import translate
from planner.unnest.unnest import unnest
from tests.support.binding.cases import Snapshot, read_snapshot, recorded
from tests.support.planning.cases import QUERIES, bound
from tests.support.planning.random_plans import TABLES, commits, queries


@given(query=queries(), changes=commits(1))
def test_the_answer_is_the_same(query: LogicalQuery, changes: list[dict[TableName, Changes]]) -> None:
    contents: dict[TableName, Bag] = {name: Counter() for name in TABLES}
    for name, rows in changes[0].items():
        for row, weight in rows:
            contents[name][row] += weight
    finished = finish(query)
    columns = [output.column for output in finished.query.outputs]
    answer: Bag = Counter()
    for row, count in evaluate(finished.query, contents).items():
        answer[computed(finished.values, dict(zip(columns, row, strict=True)))] += count
    assert answer == evaluate(query, contents)


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return read_snapshot()


def finished(snapshot: Snapshot, name: str) -> Finished:
    (case,) = recorded(QUERIES / f"{name}.sql")
    return finish(unnest(translate(bound(case, snapshot), snapshot.tables)))


def left(done: Finished) -> list[str]:
    names = {output.column: output.name for output in done.query.outputs}
    return [write(value, names) for value in done.values if not isinstance(value, Reference)]


def test_averages_and_quotients_are_left(snapshot: Snapshot) -> None:
    average = "(avg sum OPERATOR(pg_catalog./) (avg count::pg_catalog.numeric))"
    assert left(finished(snapshot, "q01")) == [average] * 3
    percentage = "(('100.00'::pg_catalog.numeric) OPERATOR(pg_catalog.*) sum)"
    assert left(finished(snapshot, "q14")) == [f"({percentage} OPERATOR(pg_catalog./) sum)"]


def test_what_spark_computes_exactly_is_not_left(snapshot: Snapshot) -> None:
    for name in ("q03", "q05", "q06", "q19"):
        assert left(finished(snapshot, name)) == []


def _upper(argument: Scalar, collation: int) -> Call:
    return Call(871, "upper", Notation.FUNCTION, (argument,), collation, replace(TEXT_, collation=collation))


TEXT_ = SqlType(TEXT, collation=DEFAULT_COLLATION)
TURKISH = {**BUILT_IN, 12345: 'pg_catalog."tr-x-icu"'}


def test_what_compares_or_computes_by_a_collation_names_it() -> None:
    turkish = Reference(1, replace(TEXT_, collation=12345))
    as_default = Cast(_upper(turkish, 12345), CastMethod.RELABEL, 0, TEXT_)
    both = Call(1258, "||", Notation.OPERATOR, (as_default, Reference(2, TEXT_)), 12345, TEXT_)
    columns = {1: "c1", 2: "c2"}
    assert write(both, columns, TURKISH) == (
        """((pg_catalog."upper"((c1 COLLATE pg_catalog."tr-x-icu")) COLLATE pg_catalog."tr-x-icu") """
        """OPERATOR(pg_catalog.||) (c2 COLLATE pg_catalog."tr-x-icu"))"""
    )
    assert write(_upper(Reference(2, TEXT_), 100), columns, TURKISH) == 'pg_catalog."upper"(c2)'
    with pytest.raises(FeatureNotSupported, match="a collation of another name"):
        write(both, columns)


@given(st.text(st.characters(exclude_characters="\0")))
def test_text_is_quoted(text: str) -> None:
    written = quoted(text)
    escaped = written.startswith("E")
    inner = written[2:-1] if escaped else written[1:-1]
    assert ("\\" in text) == escaped
    read = inner.replace("''", "'")
    assert (read.replace("\\\\", "\\") if escaped else read) == text
