"""Random plans on random histories, played again and again: each time other engines compute the runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as Directory

from hypothesis import strategies as st

from catalog.postgres.schema import TableName
from coordinator.firing.work import Work
from executors.executor import Executor
from executors.reference.executor import ReferenceExecutor
from executors.reference.firing import Changes
from executors.reference.values.values import Row
from planner.delta.derive import derive
from planner.delta.methods import Method
from planner.delta.weighted import DeltaPlan
from planner.pace.paths import Path, paths
from tests.support.answers.mixed_engines import Engines, MixedExecutor
from tests.support.answers.rounds import Rounds
from tests.support.planning.random_plans import TABLES, commits, queries

METHODS = (
    (Method.LINEAR, Method.COMBINE, Method.RECOMPUTE),
    (Method.COMBINE, Method.RECOMPUTE),
    (Method.RECOMPUTE,),
)


@dataclass(frozen=True, slots=True)
class Commit:
    """What a commit changes, and whether files are merged after what is due has run."""

    changes: Mapping[TableName, Changes]
    is_merged: bool


@dataclass(frozen=True, slots=True)
class History:
    """A plan with its paces, and what is committed in some periods."""

    plan: DeltaPlan
    paces: Mapping[Path, int]
    periods: Sequence[Sequence[Commit]]


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Whatever the query, its methods and its paces."""
    plan = derive(draw(queries(most=4)), draw(st.sampled_from(METHODS)), tables=TABLES)
    paces = {path: draw(st.integers(1, 6)) for path in paths(plan)}
    periods = [[Commit(changes, draw(st.booleans())) for changes in draw(commits())] for _ in range(2)]
    return History(plan, paces, periods)


def by_definition(_work: Work) -> Executor:
    """The definition computes every run."""
    return ReferenceExecutor()


def assigned(engines: Engines) -> Callable[[Work], Executor]:
    """The engines by turns, as they are drawn."""
    return lambda work: MixedExecutor(engines, work, engines.random)


def played(
    history: History, executor_of: Callable[[Work], Executor], directory: Directory
) -> Sequence[Mapping[int, Mapping[Row, int]]]:
    """What has been written to the buffer of each subplan, at each trigger."""
    rounds = Rounds(executor_of, directory, history.plan, history.paces)
    rounds.trigger()
    found = [rounds.contents()]
    for period in history.periods:
        for commit in period:
            rounds.commit(commit.changes)
            rounds.work_early()
            if commit.is_merged:
                rounds.merge()
        rounds.trigger()
        found.append(rounds.contents())
    return found
