"""Random histories of tables, worked by all engines in random ways, each beside PostgreSQL's own answer.

Each query is planned by random rules and methods, and fired after random commits, on some of its paths in
between, each time by engines drawn at random; its tables come in batches cut at random. What it gives must be
what PostgreSQL gives (G1, G6).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from pathlib import Path as Directory
from random import Random
from typing import Final, TypeAlias
from uuid import uuid4

import psycopg
import pyarrow as pa

from catalog.capture.batch import Batch
from catalog.errors import Error, FeatureNotSupported
from catalog.postgres.schema import TableName
from catalog.postgres.signatures import Signatures
from catalog.postgres.storage import stored_column
from catalog.postgres.types import SqlType
from coordinator.firing.batches import BatchIndex
from coordinator.firing.query_run import QueryRun
from coordinator.firing.work import NOTHING_READ, Offsets, Work
from coordinator.planning.planning import Bound, bind_view, taken_on
from coordinator.planning.prepared import Prepared, prepare_planned
from coordinator.publish.publishing import apply_changes
from executors.executor import StateBudget
from executors.reference.arrow import as_arrow
from executors.reference.values.values import Row
from executors.rows import arrow_schema
from executors.settings import EngineSettings
from executors.spark.executor import SparkEngine
from planner.algebra.columns import numbers_after
from planner.algebra.statistics import Statistics
from planner.delta.methods import METHODS, Method
from planner.firing.states import states_of
from planner.optimise.optimise import stages
from planner.pace.paths import Path, paths
from planner.plan import Planned, plan
from planner.translate.translate import translate
from planner.unnest.unnest import unnest
from sources.warehouse.warehouse import COMMIT_LSN, IS_UPDATE, WEIGHT, Warehouse, table_buffer
from tests.support.answers.mixed_engines import Engines, LeftToSpark, MixedExecutor
from tests.support.capture.databases import oid_of
from tests.support.planning.differential import rows_and_work
from tests.support.planning.random_queries import RandomQueries
from tests.support.planning.random_tables import SCHEMA, RandomTable, RandomTables, random_tables

COMMITS: Final = 4
BUDGETS: Final = (0.0, 1_000.0, 20_000.0, inf)
LARGE: Final = 1_000_000
MOST_SUBPLANS: Final = 12
OF_DATA: Final = ("21", "22")
SPARK: Final = SparkEngine.of(EngineSettings(Directory()))

_COLUMNS: Final = """
    SELECT attname, atttypid::int8, atttypmod, attcollation::int8 FROM pg_attribute
    WHERE attrelid = %s::regclass AND attnum > 0 ORDER BY attnum
"""

Changes: TypeAlias = Mapping[TableName, list[tuple[Row, int]]]


class Log:
    """The changes of a table, commit by commit, and batches of them."""

    def __init__(self, connection: psycopg.Connection, signatures: Signatures, table: RandomTable) -> None:
        self._buffer = table_buffer(oid_of(connection, table.qualified))
        columns = connection.execute(_COLUMNS, (table.qualified,)).fetchall()
        self._storages = [
            stored_column(name, SqlType(*numbers), signatures.types).storage for name, *numbers in columns
        ]
        self._rows: list[pa.Table] = []
        self._sealed: dict[tuple[int, int], Batch] = {}

    def add(self, changes: Sequence[tuple[Row, int]], position: int) -> None:
        """What was committed at the next position."""
        columns = {
            f"a{number + 1}": as_arrow([row[number] for row, _ in changes], storage)
            for number, storage in enumerate(self._storages)
        }
        columns[WEIGHT] = pa.array([weight for _, weight in changes], pa.int64())
        columns[COMMIT_LSN] = pa.array([position] * len(changes), pa.int64())
        columns[IS_UPDATE] = pa.array([False] * len(changes), pa.bool_())
        self._rows.append(pa.table(columns))

    def batches(self, warehouse: Warehouse, position: int, random: Random) -> Iterator[Batch]:
        """All up to a position, cut anywhere."""
        cuts = [0, *(cut for cut in range(1, position) if random.random() < 0.5), position]
        for start, end in pairwise(cuts):
            rows = pa.concat_tables(self._rows[start:end])
            if rows.num_rows and (start, end) not in self._sealed:
                self._sealed[start, end] = warehouse.seal(self._buffer, rows, start, end, 1)
            if rows.num_rows:
                yield self._sealed[start, end]


@dataclass
class Query:
    """A query on its way through a history: how far its subplans are, and what they wrote."""

    name: str
    view: str
    text: str
    prepared: Prepared
    random: Random
    offsets: Offsets = field(default_factory=dict)
    published: int = 0
    made: list[Batch] = field(default_factory=list)


@dataclass
class Player:
    """Plays histories in one database, and keeps what came of them."""

    connection: psycopg.Connection
    engines: Engines
    warehouse: Warehouse
    signatures: Signatures
    counts: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    def play(self, seed: int, queries: int) -> None:
        """The tables of a seed, some changes of them, and so many queries."""
        random = Random(seed)
        self.engines.random.seed(seed)
        tables = random_tables(random)
        tables.fill(random)
        self._execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE", f"CREATE SCHEMA {SCHEMA}")
        self._execute(*(table.ddl for table in tables.tables))
        self._fill(tables)
        logs = {table.name: Log(self.connection, self.signatures, table) for table in tables.tables}
        source = RandomQueries(random, tables)
        texts = [source.query() for _ in range(queries)]
        found = [self._query(f"seed {seed}, q{number}", text) for number, text in enumerate(texts)]
        playing = [query for query in found if query is not None]
        changes: Changes = {name: list(bag.items()) for name, bag in tables.contents().items()}
        for position in range(1, COMMITS + 1):
            for name, log in logs.items():
                log.add(changes[TableName(SCHEMA, name)], position)
            playing = [query for query in playing if self._advance(query, list(logs.values()), position)]
            changes = tables.change(random)
            self._fill(tables)

    def _execute(self, *statements: str) -> None:
        for statement in statements:
            self.connection.execute(statement.encode())

    def _fill(self, tables: RandomTables) -> None:
        with self.connection.transaction():
            self._execute(*tables.statements())

    def _query(self, name: str, text: str) -> Query | None:
        view = f"{SCHEMA}.{name.split()[-1]}"
        try:
            self._execute(f"CREATE VIEW {view} AS {text}")
        except psycopg.DatabaseError:
            self.counts["invalid"] += 1
            return None
        self._execute(f"CREATE TABLE {view}_answer AS TABLE {view} WITH NO DATA")
        relation = oid_of(self.connection, f"{view}_answer")
        try:
            bound = bind_view(self.connection, oid_of(self.connection, view), self.signatures)
            planned, way = _planned(bound, Random(name))
            if _is_large(planned):
                self.counts["large"] += 1
                return None
            prepared = prepare_planned(
                self.connection, uuid4(), relation, bound, taken_on(SPARK, bound, planned)
            )
        except FeatureNotSupported as refusal:
            self.counts[f"refused: {refusal.message}"] += 1
            return None
        return Query(name, view, f"{text}\n{way}", prepared, Random(name))

    def _advance(self, query: Query, logs: Sequence[Log], position: int) -> bool:
        """Work all, a part or nothing of what came; whether there is a point in going on."""
        chance = query.random.random()
        if position < COMMITS and chance < 0.3:
            return True
        try:
            if position < COMMITS and chance < 0.6 and query.offsets:
                every = paths(query.prepared.work.plan)
                self._fire(query, logs, position, {path for path in every if query.random.random() < 0.5})
                self.counts["fired in part"] += 1
                return True
            self._publish(query, logs, position)
        except LeftToSpark:
            self.counts["left to Spark"] += 1
            return False
        except Error as error:
            return self._failed(query, error)
        except psycopg.DataError as error:  # of an expression that PostgreSQL computes while it publishes
            self.counts[f"fails when published: {error.diag.message_primary}"] += 1
            self.counts["fails only here"] += self._rows(f"TABLE {query.view}") is not None
            return False
        return self._compare(query)

    def _fire(
        self,
        query: Query,
        logs: Sequence[Log],
        position: int,
        due: set[Path] | None,
        from_scratch: bool = False,
    ) -> BatchIndex:
        work = query.prepared.work
        offsets = NOTHING_READ if from_scratch else query.offsets
        made = [] if from_scratch else query.made
        batches = [batch for log in logs for batch in log.batches(self.warehouse, position, query.random)]
        batch_index = BatchIndex(work, self.warehouse, (*batches, *made))
        executor = MixedExecutor(self.engines, work, query.random)
        query_run = QueryRun(
            executor=executor,
            work=work,
            offsets=offsets,
            batch_index=batch_index,
            warehouse=self.warehouse,
            number=position,
            consolidate=from_scratch,
            states=some_states(work, Random(position)),
        )
        fired = query_run.fire(position, due)
        query.made, query.offsets = [*made, *fired.batches], fired.offsets
        return batch_index

    def _publish(self, query: Query, logs: Sequence[Log], position: int) -> None:
        """As a standing query is: anew if an error is in the way that may be history."""
        try:
            batch_index, from_scratch = self._fire(query, logs, position, None), query.published == 0
        except Error as error:
            if error.sqlstate[:2] not in OF_DATA:
                raise
            batch_index, from_scratch = self._fire(query, logs, position, None, True), True
        work, answer = query.prepared.work, query.prepared.work.plan.result
        last = query.offsets[answer, work.name(answer)]
        schema = arrow_schema(work.schemas[answer])
        changes = batch_index.changes(answer, (0 if from_scratch else query.published, last), schema)
        with self.connection.transaction():
            apply_changes(self.connection, query.prepared.result_table, changes, from_scratch)
        query.published = last

    def _failed(self, query: Query, error: Error) -> bool:
        """An error has to be PostgreSQL's too, but for what it need not compute."""
        self.counts[f"fails: {error.message}"] += 1
        if error.sqlstate[:2] not in OF_DATA:
            self.differences.append(f"{query.name}: {error!r}\n{query.text}")
        elif self._rows(f"SELECT count(*) FROM {query.view}") is not None:
            self.counts["fails only here"] += 1
        return False

    def _compare(self, query: Query) -> bool:
        """Whether the answer is PostgreSQL's; an error there must have been ours."""
        sides = f"TABLE {query.view}", f"TABLE {query.view}_answer"
        missing = self._rows(f"{sides[0]} EXCEPT ALL {sides[1]}")
        wrong = self._rows(f"{sides[1]} EXCEPT ALL {sides[0]}")
        if missing is None or wrong is None:
            self.counts["fails only there"] += 1
            return False
        self.counts["compared"] += 1
        if missing or wrong:
            self.differences.append(f"{query.name}: missing {missing}, wrong {wrong}\n{query.text}")
        return not missing and not wrong

    def _rows(self, question: str) -> list[Row] | None:
        try:
            return self.connection.execute(question.encode()).fetchall()
        except psycopg.DatabaseError:
            return None


def _planned(bound: Bound, random: Random) -> tuple[Planned, str]:
    """By all rules and the usual methods, or without some and by others first; and which."""
    tables = {table.name: table for table in bound.tables}
    off: frozenset[str] = frozenset()
    methods: tuple[Method, ...] = METHODS
    if random.random() < 0.5:
        translated = unnest(translate(bound.query, tables))
        every = stages(tables, Statistics(), numbers_after(translated.plan), frozenset())
        names = {step.name: None for stage in every for step in stage.steps if step.name != "merge_filters"}
        off = frozenset(name for name in names if random.random() < 0.5)
        methods = tuple(random.sample(METHODS, len(METHODS)))
    planned = plan(bound.query, tables, Statistics(), off, methods, bound.environment)
    return planned, f"without {sorted(off)}, {[method.value for method in methods]}"


def _is_large(planned: Planned) -> bool:
    return rows_and_work(planned.optimised.plan)[1] > LARGE or len(planned.delta.subplans) > MOST_SUBPLANS


def some_states(work: Work, random: Random) -> StateBudget:
    """A budget, and states that are done without: neither may change a row."""
    lookups = {lookup for uses in states_of(work.plan).values() for lookup in uses.lookups}
    names = sorted(
        (work.name(buffer), sorted(work.columns(buffer)[column] for column in columns))
        for buffer, columns in lookups
    )
    dropped = frozenset((name, frozenset(columns)) for name, columns in names if random.random() < 0.3)
    return StateBudget(str(work.query), random.choice(BUDGETS), dropped, random.random() < 0.5)
