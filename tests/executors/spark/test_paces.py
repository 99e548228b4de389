"""Rounds on Spark, their paths at paces of their own: at every trigger the answer is the definition's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from catalog.postgres.schema import TableName
from executors.reference.evaluate import evaluate
from executors.reference.firing import Changes
from executors.reference.values.values import Bag
from executors.spark.executor import SparkExecutor
from executors.spark.session import SparkSettings, close_session, open_session
from planner.algebra.logical import LogicalQuery
from planner.delta.derive import derive
from planner.pace.paths import paths
from tests.planner.test_delta import apply
from tests.support.answers.assignments import History, assigned, by_definition, histories, played
from tests.support.answers.mixed_engines import Engines
from tests.support.answers.rounds import Rounds
from tests.support.planning.random_plans import TABLES, commits, queries

pytestmark = pytest.mark.service


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    opened = open_session(SparkSettings(tmp_path_factory.mktemp("spark"), master="local[2]"))
    yield opened
    close_session(opened)


@settings(
    max_examples=6,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(query=queries(), periods=st.lists(commits(), min_size=2, max_size=2), data=st.data())
def test_the_answer_is_right_at_every_trigger(
    session: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    query: LogicalQuery,
    periods: list[list[dict[TableName, Changes]]],
    data: st.DataObject,
) -> None:
    plan = derive(query, tables=TABLES)
    paces = {path: data.draw(st.integers(1, 6)) for path in paths(plan)}
    directory = tmp_path_factory.mktemp("warehouse")
    rounds = Rounds(lambda _work: SparkExecutor(session), directory, plan, paces)
    contents: dict[TableName, Bag] = {name: Counter() for name in TABLES}
    rounds.trigger()
    for changes in periods:
        for commit in changes:
            apply(contents, commit)
            rounds.commit(commit)
            rounds.work_early()
        assert Counter(dict(rounds.trigger())) == evaluate(query, contents)


@settings(
    max_examples=6,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(history=histories(), seed=st.integers(0, 2**32))
def test_spark_among_others_writes_what_the_definition_writes(
    session: SparkSession, tmp_path_factory: pytest.TempPathFactory, history: History, seed: int
) -> None:
    written = played(history, by_definition, tmp_path_factory.mktemp("definition"))
    with closing(Engines(SparkExecutor(session), Random(seed))) as engines:
        assert played(history, assigned(engines), tmp_path_factory.mktemp("assigned")) == written
