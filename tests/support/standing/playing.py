"""Cases played on a real `gavial serve`, each result compared with PostgreSQL's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Final

import psycopg

from tests.support.answers.answering import Ended, ask, ended, status_of
from tests.support.capture.databases import one
from tests.support.planning.freedom import Texts, contrasts, unlike, unwitnessed
from tests.support.running.servers import wait_until
from tests.support.standing.cases import Case, Change, Query, Restart, Statement, Step, script
from tests.support.standing.server_settings import FORGOTTEN
from tests.support.standing.site import Site

WAIT_SECONDS: Final = 240
GRACE_SECONDS: Final = 60
"""In which a run ends after its table has stopped."""

MOST_SHOWN: Final = 6
LONGEST_SHOWN: Final = 400
SESSION: Final = (
    "SET TimeZone = 'UTC'; SET jit = off; SET statement_timeout = '120s'; "
    "SET array_nulls = on"  # else a case's own {NULL} is no array of a type that has no value NULL
)
COMPUTED: Final = "SET LOCAL bytea_output = hex; SET LOCAL extra_float_digits = 1"
"""The settings by which texts are computed (docs/values.md); results are read under any."""

EXPECTED: Final = "pg_temp.expected"
EXTREME_INTERVAL: Final = "178956970 years"
"""In the largest and the smallest interval, with which nothing is computed before PostgreSQL 17."""

CONFIGURATION: Final = "F0000"
NO_EQUALITY: Final = (114, 199)
_SCHEMAS: Final = count()


@dataclass(frozen=True)
class Difference:
    """What is wrong with one result: of which kind, and the targets that differ where it is only some."""

    kind: str
    what: str
    targets: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Finding:
    """Something that must not be: of which kind, of which query, at which step (-1: before the changes)."""

    kind: str
    query: str
    step: int
    what: str
    targets: frozenset[int] = frozenset()

    def __str__(self) -> str:
        return f"{self.kind}, {self.query}, step {self.step}: {self.what}"


@dataclass
class Player:
    """Plays cases at a site; a query that cannot be maintained is left out, and counted."""

    site: Site
    counts: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)

    def play(self, case: Case) -> tuple[Case, list[Finding]]:
        """The case with the queries that were accepted, and what was found."""
        schema = f"f{next(_SCHEMAS)}"
        connection = _connect(self.site)
        connection.execute(f"CREATE SCHEMA {schema}".encode())
        game = _Game(self, connection, schema)
        try:
            played = game.play(case)
        except (AssertionError, psycopg.Error) as error:
            game.findings.append(Finding("broken", "", game.step, f"{type(error).__name__}: {error}"))
            played = replace(case, queries=tuple(game.queries)) if game.queries else case
            self.site.renew()
            return played, game.findings
        game.count_engines()
        # A database may have a level at which what the coordinator changes meanwhile is an error.
        game.connection.execute("SET default_transaction_isolation = 'read committed'")
        game.connection.execute(f"DROP SCHEMA {schema} CASCADE".encode())
        game.connection.close()
        game.findings += [Finding("log", "", game.step, said) for said in self.site.new_tracebacks()]
        return played, game.findings


def _connect(site: Site, schema: str = "") -> psycopg.Connection:
    connection = psycopg.connect(site.dsn(), autocommit=True, prepare_threshold=None)
    connection.execute(SESSION)
    if schema:
        connection.execute(f"SET search_path = {schema}".encode())
    return connection


@dataclass
class _Game:
    """One case as it is played."""

    player: Player
    connection: psycopg.Connection
    schema: str
    step: int = -1
    queries: list[Query] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    results: dict[str, list[Texts]] = field(default_factory=dict)
    extreme_intervals: bool = False

    def play(self, case: Case) -> Case:
        self.extreme_intervals = (
            EXTREME_INTERVAL in script(case) and self.connection.info.server_version < 170_000
        )
        self._execute(FORGOTTEN, f"SET search_path = {self.schema}", *case.prelude)
        self._connect()  # so that settings of the database are those of the session too
        for table in case.tables:
            self._execute(*table.statements())
        self._change(case.fill)
        for query in case.queries:
            accepted = self._create(query)
            if accepted is not None:
                self.queries.append(accepted)
        self._judge()
        for number, step in enumerate(case.steps):
            self.step = number
            self._take(step)
            self._judge()
        return replace(case, queries=tuple(self.queries))

    def count_engines(self) -> None:
        """Count the runs by what computed them."""
        runs = """
            SELECT coalesce(engine, 'nothing'), count(*) FROM gavial.executions
            WHERE query_ids && ARRAY(SELECT id FROM gavial.queries) GROUP BY 1
        """
        found = self.connection.execute(runs).fetchall()
        self.player.counts.update({f"runs by {engine}": number for engine, number in found})

    def _connect(self) -> None:
        self.connection.close()
        self.connection = _connect(self.player.site, self.schema)

    def _execute(self, *statements: str) -> None:
        for statement in statements:
            self.connection.execute(statement.encode())

    def _take(self, step: Step) -> None:
        match step:
            case Change(statements):
                self._change(statements)
            case Restart(killed):
                self.player.site.restart(killed)
                self._connect()

    def _change(self, statements: Sequence[Statement]) -> None:
        """All in one transaction; what PostgreSQL refuses is undone by itself."""
        with self.connection.transaction():
            for statement in statements:
                with suppress(psycopg.DataError, psycopg.IntegrityError), self.connection.transaction():
                    self._execute(statement.sql())

    def _create(self, query: Query) -> Query | None:
        """The query as it is accepted, perhaps without some of its targets."""
        while len(query.targets) > 0:
            head = f"CREATE STANDING QUERY {query.name} AS "
            invalid = self._error_of(f"EXPLAIN {query.text}")
            error = invalid or self._error_of(f"{head}{query.text} WITH NO DATA")
            if error is None:
                return query
            if invalid is None:
                self._refused(query, error)
            else:
                self.player.counts["invalid"] += 1
            place = _target_at(
                query, int(error.diag.statement_position or 0) - len("EXPLAIN " if invalid else head)
            )
            if place is None or len(query.targets) == 1:
                return None
            query = query.without(frozenset((place,)))
        return None

    def _refused(self, query: Query, error: psycopg.Error) -> None:
        message = error.diag.message_primary or str(error)
        # A view's columns have to have a collation, and a SELECT's need not.
        if error.sqlstate in ("0A000", "42P22"):
            self.player.refusals[message] += 1
            self.player.counts["refused"] += 1
        else:
            self.findings.append(Finding("create", query.name, self.step, f"{error.sqlstate}: {message}"))

    def _error_of(self, statement: str) -> psycopg.Error | None:
        try:
            self._execute(statement)
        except psycopg.OperationalError as error:
            if self.connection.closed:
                raise
            return error
        except psycopg.DatabaseError as error:
            return error
        return None

    def _judge(self) -> None:
        """Refresh all queries and compare each."""
        runs = ask(self.connection, "refresh", *(query.name for query in self.queries))
        for query, run in zip(self.queries, runs, strict=True):
            outcome = self._ended(run)
            for difference in self._compare(query, outcome):
                told = f"{difference.what}\n  {query.text}"
                self.findings.append(
                    Finding(difference.kind, query.name, self.step, told, difference.targets)
                )

    def _ended(self, run: str) -> Ended:
        """How a run ends; one that waits for a table that is stopped does not."""
        found = "SELECT state FROM gavial.runs WHERE id = %s"
        wait_until(
            lambda: one(self.connection, found, run) in ("done", "failed") or bool(self._stopped()),
            f"the run is not done after {WAIT_SECONDS} s",
            WAIT_SECONDS,
        )
        seconds = GRACE_SECONDS if (stopped := self._stopped()) else WAIT_SECONDS
        try:
            return ended(self.connection, run, seconds)
        except AssertionError as error:
            raise AssertionError(f"a run waits for a stopped table: {stopped}") from error

    def _stopped(self) -> list[Texts]:
        return self._rows("SELECT relation, detail FROM gavial.sources WHERE state = 'stopped'")[0]

    def _compare(self, query: Query, outcome: Ended) -> Iterator[Difference]:
        view = one(
            self.connection,
            "SELECT view::text FROM gavial.queries WHERE result = to_regclass(%s)",
            query.name,
        )
        status, sqlstate, detail = status_of(self.connection, query.name)
        if sqlstate == CONFIGURATION and not self.player.site.has_spark:
            self.player.counts["left to Spark"] += 1
            return
        try:
            expected, types = self._expected(view)
        except psycopg.DatabaseError as error:
            self.player.counts["raises"] += 1
            if (status, sqlstate) != ("error", error.sqlstate):
                yield Difference(
                    "error",
                    f"PostgreSQL raises {error.sqlstate} {error}; status {status}, {sqlstate}: {detail}",
                )
            elif (
                query.name in self.results
                and self._rows(f"TABLE {query.name}")[0] != self.results[query.name]
            ):
                yield Difference("error", "the result has changed with an error")
            return
        if sqlstate == "22008" and self.extreme_intervals:
            self.player.counts["by choice"] += 1
            return
        if outcome.state == "failed" or status != "active":
            yield Difference("status", f"{outcome.state}, {status} {sqlstate}: {detail or outcome.message}")
            return
        found, _ = self._rows(f"TABLE {query.name}")
        self.results[query.name] = found
        self.player.counts["compared"] += 1
        yield from self._differences(query, (expected, found), types)

    def _expected(self, view: str) -> tuple[list[Texts], list[int]]:
        """What PostgreSQL computes, as it is read in this session; it is there as a table, too."""
        with self.connection.transaction():
            self._execute(
                COMPUTED, f"DROP TABLE IF EXISTS {EXPECTED}", f"CREATE TABLE {EXPECTED} AS TABLE {view}"
            )
        return self._rows(f"TABLE {EXPECTED}")

    def _differences(
        self, query: Query, rows: tuple[list[Texts], list[Texts]], types: Sequence[int]
    ) -> Iterator[Difference]:
        witnesses = {free.column: self._witnesses(free.witnesses) for free in query.free}
        missing, wrong = unlike(*rows, witnesses)
        if missing or wrong:
            kind = "rows" if self._by_value(query.name, types) else "text"
            yield _difference(query, kind, missing, wrong)
        elif witnesses:
            if strange := unwitnessed(*rows, witnesses):
                yield Difference("text", f"written as no row writes it: {_few(strange)}")
            if self._by_value(query.name, types):
                yield Difference("rows", f"values of free columns differ: {_few(rows[0])}, {_few(rows[1])}")

    def _by_value(self, name: str, types: Sequence[int]) -> bool:
        """Whether there are rows that differ to PostgreSQL."""
        if any(oid in NO_EQUALITY for oid in types):
            return False
        sides = (f"TABLE {EXPECTED} EXCEPT ALL TABLE {name}", f"TABLE {name} EXCEPT ALL TABLE {EXPECTED}")
        return any(self._rows(side)[0] for side in sides)

    def _witnesses(self, question: str) -> frozenset[str | None]:
        return frozenset(row[0] for row in self._rows(question)[0])

    def _rows(self, question: str) -> tuple[list[Texts], list[int]]:
        """Rows as PostgreSQL writes them, sorted, and the types of their columns."""
        result = self.connection.execute(question.encode()).pgresult
        assert result is not None
        rows = [
            tuple(
                None if (value := result.get_value(row, column)) is None else value.decode()
                for column in range(result.nfields)
            )
            for row in range(result.ntuples)
        ]
        types = [result.ftype(column) for column in range(result.nfields)]
        return sorted(rows, key=repr), types


def _difference(query: Query, kind: str, missing: Sequence[Texts], wrong: Sequence[Texts]) -> Difference:
    pairs = contrasts(missing, wrong)
    if pairs is None:
        return Difference(kind, f"missing {_few(missing)}, superfluous {_few(wrong)}")
    told = [
        f"{query.targets[column] if len(query.targets) > column else column}: "
        f"{_short(repr(theirs[column]))} is {_short(repr(ours[column]))} "
        f"where the first column is {_short(repr(theirs[0]))}"
        for column, (theirs, ours) in pairs.items()
    ]
    return Difference(kind, "; ".join(told), frozenset(pairs))


def _target_at(query: Query, position: int) -> int | None:
    """Which target a position, counted from 1, lies in."""
    start = len(query.head) + 1
    for place, target in enumerate(query.targets):
        if start <= position < start + len(target):
            return place
        start += len(target) + len(", ")
    return None


def _few(rows: Sequence[object]) -> str:
    shown = ", ".join(_short(repr(row)) for row in rows[:MOST_SHOWN])
    return f"[{shown}]{f' and {len(rows) - MOST_SHOWN} more' if len(rows) > MOST_SHOWN else ''}"


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."
