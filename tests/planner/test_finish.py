"""What Spark leaves to PostgreSQL: the answer is the same, and only what is not exact is left."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.postgres.schema import TableName
from dialect.expressions.postgres import quoted, write
from dialect.expressions.scalar import Reference
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
    columns = [each.column for each in finished.query.outputs]
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
    names = {each.column: each.name for each in done.query.outputs}
    return [write(each, names) for each in done.values if not isinstance(each, Reference)]


def test_averages_and_quotients_are_left(snapshot: Snapshot) -> None:
    average = "(avg sum OPERATOR(pg_catalog./) (avg count::pg_catalog.numeric))"
    assert left(finished(snapshot, "q01")) == [average] * 3
    percentage = "(('100.00'::pg_catalog.numeric) OPERATOR(pg_catalog.*) sum)"
    assert left(finished(snapshot, "q14")) == [f"({percentage} OPERATOR(pg_catalog./) sum)"]


def test_what_spark_computes_exactly_is_not_left(snapshot: Snapshot) -> None:
    for name in ("q03", "q05", "q06", "q19"):
        assert left(finished(snapshot, name)) == []


@given(st.text(st.characters(exclude_characters="\0")))
def test_text_is_quoted(text: str) -> None:
    written = quoted(text)
    escaped = written.startswith("E")
    inner = written[2:-1] if escaped else written[1:-1]
    assert ("\\" in text) == escaped
    read = inner.replace("''", "'")
    assert (read.replace("\\\\", "\\") if escaped else read) == text
