"""Random queries as PostgreSQL answers them, and as every phase of planning has them evaluated."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Final, TypeAlias

from psycopg import AsyncConnection
from psycopg.errors import DatabaseError

from catalog.errors import Error, FeatureNotSupported
from catalog.postgres.schema import Column, TableName, Tables
from catalog.postgres.signatures import Signatures
from catalog.postgres.signatures_reader import read_signatures
from catalog.postgres.types import SqlType
from dialect.binding.bind import bind
from executors.reference.evaluate import evaluate
from executors.reference.values.input import read
from executors.reference.values.values import Contents, Row, equality_key
from planner.algebra.columns import numbers_after
from planner.algebra.logical import (
    Aggregate,
    DependentJoin,
    DependentPlan,
    Join,
    JoinKind,
    LogicalQuery,
    Scan,
    Top,
)
from planner.algebra.statistics import Statistics
from planner.algebra.tree import children
from planner.delta.derive import derive
from planner.delta.methods import METHODS
from planner.delta.weighted import Pairs, Subplan
from planner.delta.weighted_tree import within
from planner.optimise.optimise import optimise, stages
from planner.translate.translate import translate
from planner.unnest.unnest import unnest
from tests.support.binding.relations import read_canonical_text, read_table
from tests.support.checkout import ROOT
from tests.support.planning.random_queries import RandomQueries
from tests.support.planning.random_tables import MOST_ROWS, SCHEMA, RandomTables, random_tables
from tests.support.planning.replay import Replay

KEPT: Final = ROOT / "tests" / "planner" / "differential.seeds"
BATCHES: Final = 4
MANY_PAIRINGS: Final = 40
LARGE: Final = 200_000  # rows to go through
FAILURES: Final = (
    AssertionError,
    AttributeError,
    IndexError,
    KeyError,
    RecursionError,
    TypeError,
    ValueError,
    Error,
)
SETTINGS: Final = ("SET jit = off", "SET TimeZone = 'UTC'", "SET statement_timeout = '20s'")

Changes: TypeAlias = Mapping[TableName, list[tuple[Row, int]]]
Rows: TypeAlias = Counter[Row]


@asynccontextmanager
async def judging(dsn: str) -> AsyncIterator[Judge]:
    """A judge on a connection of its own; no plan is prepared, since views of one name come and go."""
    connect = AsyncConnection.connect(dsn, autocommit=True, prepare_threshold=None)
    async with await connect as connection:
        for setting in SETTINGS:
            await connection.execute(setting)
        yield Judge(connection, await read_signatures(connection))


def kept_seeds() -> list[int]:
    """The seeds that once differed."""
    return [int(line) for line in KEPT.read_text().split()]


def keep_seed(seed: int) -> None:
    """Remember a seed that differs."""
    if seed not in kept_seeds():
        KEPT.write_text(f"{KEPT.read_text()}{seed}\n")


@dataclass
class Query:
    """A query that PostgreSQL accepts, as a view, and in all the forms that its plan takes."""

    view: str
    text: str
    columns: tuple[Column, ...]
    plans: dict[str, LogicalQuery[DependentPlan]] = field(default_factory=dict)
    replays: dict[str, Replay] = field(default_factory=dict)


@dataclass
class Judge:
    """Compares on one connection, whose database it has for itself; keeps the outcomes."""

    connection: AsyncConnection
    signatures: Signatures
    counts: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    async def judge(self, seed: int, queries: int) -> None:
        """The tables of a seed, so many queries over them, and some changes of the tables."""
        random = Random(seed)
        tables = random_tables(random)
        tables.fill(random)
        known = await self._create(tables)
        source = RandomQueries(random, tables)
        texts = [source.query() for _ in range(queries)]
        planned = [await self._plan(seed, f"q{place}", text, known) for place, text in enumerate(texts)]
        found = [query for query in planned if query is not None]
        changes: Changes = {name: list(bag.items()) for name, bag in tables.contents().items()}
        await self._compare(seed, found, tables.contents(), changes, Random(seed))
        for _ in range(BATCHES):
            changes = tables.change(random)
            await self._fill(tables)
            await self._compare(seed, found, None, changes, Random(seed))

    async def _execute(self, *statements: str) -> None:
        for statement in statements:
            await self.connection.execute(statement.encode())

    async def _create(self, tables: RandomTables) -> Tables:
        await self._execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE", f"CREATE SCHEMA {SCHEMA}")
        await self._execute(*(table.ddl for table in tables.tables))
        await self._fill(tables)
        known = [await read_table(self.connection, table.qualified) for table in tables.tables]
        return {table.name: table for table in known}

    async def _fill(self, tables: RandomTables) -> None:
        async with self.connection.transaction():
            await self._execute(*tables.statements())

    async def _plan(self, seed: int, name: str, text: str, known: Tables) -> Query | None:
        view = f"{SCHEMA}.{name}"
        try:
            await self._execute(f"CREATE VIEW {view} AS {text}")
        except DatabaseError:
            self.counts["invalid"] += 1
            return None
        columns = (await read_table(self.connection, view)).columns
        canonical = await read_canonical_text(self.connection, view)
        query = Query(view, text, columns)
        random = Random(f"{seed} {name}")
        try:
            translated = translate(bind(canonical, known, self.signatures, columns), known)
            unnested = dict(plans_of(translated, known, random))
            query.plans["translated"] = translated
            query.plans.update(unnested)
            for methods, specialised in (
                (METHODS, True),
                (tuple(random.sample(METHODS, len(METHODS))), False),
            ):
                form, plan = random.choice(list(unnested.items()))
                how = ", ".join((*(method.value for method in methods), *("specialised",) * specialised))
                delta = derive(plan, methods, known)
                if any(_pairings(subplan) > MANY_PAIRINGS for subplan in delta.subplans):
                    self.counts["many pairings"] += 1
                    continue
                query.replays[f"{form}, replayed ({how})"] = Replay(delta, specialised=specialised)
            if any(rows_and_work(form.plan)[1] > LARGE for form in query.plans.values()):
                self.counts["large"] += 1
                return None
        except FeatureNotSupported as refusal:
            self.counts[f"refused: {refusal.message}"] += 1
            return None
        except FAILURES as failure:
            self._report(seed, query, "planning", repr(failure))
        return query

    async def _compare(
        self, seed: int, queries: list[Query], contents: Contents | None, changes: Changes, random: Random
    ) -> None:
        for query in list(queries):
            theirs = await self._answer(query)
            if theirs is None:
                queries.remove(query)
                continue
            if contents is not None:
                self.counts["answered" if theirs else "answered by no rows"] += 1
                for form, plan in query.plans.items():
                    self._check(seed, query, form, theirs, partial(evaluate, plan, contents))
            for form, replay in list(query.replays.items()):
                replay.commit(changes)
                late = contents is None and random.random() < 0.5
                ours = partial(fire_some, replay, random) if late else partial(fire_all, replay)
                if not self._check(seed, query, form, theirs, ours):
                    del query.replays[form]

    async def _answer(self, query: Query) -> Rows | None:
        """PostgreSQL's rows, None where it finds an error in the data."""
        try:
            cursor = await self.connection.execute(f"SELECT * FROM {query.view}".encode())
        except DatabaseError as error:
            self.counts[f"fails: {error.diag.message_primary}"] += 1
            return None
        result = cursor.pgresult
        assert result is not None
        return Counter(
            tuple(
                None if text is None else read(text.decode(), SqlType(column.type.oid))
                for place, column in enumerate(query.columns)
                for text in [result.get_value(row, place)]
            )
            for row in range(result.ntuples)
        )

    def _check(
        self, seed: int, query: Query, form: str, theirs: Rows, ours: Callable[[], Rows | None]
    ) -> bool:
        """Whether these are the same rows; what is None has still something to be done."""
        try:
            found = ours()
        except NotImplementedError as missing:
            self.counts[f"not defined: {missing}"] += 1
            return False
        except Error as error:
            assert error.sqlstate.startswith(("21", "22")), error
            self.counts[f"fails only here: {error.message}"] += 1  # what is not used may be left uncomputed
            return False
        except FAILURES as failure:
            self._report(seed, query, form, repr(failure))
            return False
        if found is None or comparable(found) == comparable(theirs):
            self.counts["compared"] += found is not None
            return True
        missing_rows, wrong = theirs - found, found - theirs
        self._report(seed, query, form, f"missing {dict(missing_rows)}, wrong {dict(wrong)}")
        return False

    def _report(self, seed: int, query: Query, form: str, what: str) -> None:
        self.differences.append(f"seed {seed}, {query.view}, {form}: {what}\n{query.text}")


def plans_of(
    translated: LogicalQuery[DependentPlan], tables: Tables, random: Random
) -> Iterator[tuple[str, LogicalQuery]]:
    """The plans that mean the same, and by what they came.

    Filters are always merged: by that the other rules see what is done already.
    """
    unnested = unnest(translated)
    yield "unnested", unnested
    yield "optimised", optimise(unnested, tables, Statistics())
    every = stages(tables, Statistics(), numbers_after(unnested.plan), frozenset())
    rules = {step.name: None for stage in every for step in stage.steps if step.name != "merge_filters"}
    off = frozenset(name for name in rules if random.random() < 0.5)
    yield f"optimised without {sorted(off)}", optimise(unnested, tables, Statistics(), off)


def rows_and_work(plan: DependentPlan) -> tuple[int, int]:
    """About the most rows that a plan gives, and that its evaluation goes through."""
    below = [rows_and_work(child) for child in children(plan)]
    rows, work = [estimate[0] for estimate in below], sum(estimate[1] for estimate in below)
    match plan:
        case Scan():
            return MOST_ROWS, MOST_ROWS
        case Join(kind=kind) | DependentJoin(kind=kind):
            each_time = below[1][1] if isinstance(plan, DependentJoin) else 0
            pairs = rows[0] * max(rows[1], 1)
            return rows[0] if kind in (JoinKind.SEMI, JoinKind.ANTI) else pairs, work + pairs + rows[
                0
            ] * each_time
        case Aggregate(keys=()):
            return 1, work
        case Top(limit=int() as limit):
            return min(limit, rows[0]), work
        case _:
            return sum(rows) or 1, work + sum(rows)


def _pairings(subplan: Subplan) -> int:
    """Joins of inputs that are not consolidated: a row that was replaced is there three times in each."""
    return sum(isinstance(node, Pairs) for step in subplan.steps for node in within(step.outcome))


def fire_all(replay: Replay) -> Rows:
    """Everything that is due; the answer."""
    replay.fire_all()
    answer = replay.answer
    assert all(weight > 0 for _, weight in answer), f"rows of the answer that are not there: {answer}"
    return Counter(dict(answer))


def fire_some(replay: Replay, random: Random) -> None:
    """Some of what is due, of some buffers less than all."""
    for subplan in replay.plan.subplans:
        if random.random() < 0.8:
            starts = {buffer: replay.read[subplan.writes, buffer] for buffer in subplan.reads}
            ends = {buffer: len(replay.logs[buffer].batches) for buffer in subplan.reads}
            replay.fire(
                subplan, {buffer: random.randint(starts[buffer], ends[buffer]) for buffer in subplan.reads}
            )


def comparable(rows: Rows) -> Rows:
    """The rows by what is equal to PostgreSQL."""
    found: Rows = Counter()
    for row, count in rows.items():
        found[equality_key(row)] += count
    return found
