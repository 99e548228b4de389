"""Random queries as standing ones: made, changed under and refreshed, beside PostgreSQL's own answers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import cycle
from random import Random
from typing import Final

import psycopg

from dialect.statements.options import METHODS
from tests.support.answers.answering import ANSWER_SECONDS, ask, ended, status_of
from tests.support.capture.databases import one
from tests.support.planning.random_queries import RandomQueries
from tests.support.planning.random_tables import SCHEMA, RandomTables, random_tables
from tests.support.running.servers import wait_until

OF_DATA: Final = ("21", "22")


@dataclass
class Standing:
    """What came of the queries of one database."""

    connection: psycopg.Connection
    counts: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    def play(self, seed: int, queries: int, batches: int) -> None:
        """The tables of a seed, so many queries, and changes; all of it is dropped at the end."""
        random = Random(seed)
        tables = random_tables(random, edges=True)
        tables.fill(random)
        self._execute(f"CREATE SCHEMA {SCHEMA}", *(table.ddl for table in tables.tables))
        self._fill(tables)
        source = RandomQueries(random, tables)
        texts = {f"{SCHEMA}.q{number}": source.query() for number in range(queries)}
        methods = cycle(METHODS)
        made = {name: text for name, text in texts.items() if self._create(name, text, next(methods))}
        for name in made:
            wait_until(
                lambda name=name: status_of(self.connection, name)[0] != "initialising",  # type: ignore[misc]
                f"seed {seed}: {name} is not answered",
                ANSWER_SECONDS,
            )
        for _ in range(batches):
            tables.change(random)
            self._fill(tables)
            runs = ask(self.connection, "refresh", *made)
            for (name, text), run in zip(made.items(), runs, strict=True):
                self._judge(f"seed {seed}, {name}", name, text, run)
        self._execute(f"DROP SCHEMA {SCHEMA} CASCADE")

    def _execute(self, *statements: str) -> None:
        for statement in statements:
            self.connection.execute(statement.encode())

    def _fill(self, tables: RandomTables) -> None:
        with self.connection.transaction():
            self._execute(*tables.statements())

    def _create(self, name: str, text: str, method: str) -> bool:
        try:
            self._execute(f"CREATE STANDING QUERY {name} WITH (METHOD = {method}) AS {text} WITH NO DATA")
        except psycopg.errors.FeatureNotSupported:
            self.counts["refused"] += 1
            return False
        except psycopg.DatabaseError:
            self.counts["invalid"] += 1
            return False
        return True

    def _judge(self, title: str, name: str, text: str, run: str) -> None:
        """A refresh is done and exact; or it fails, as PostgreSQL does but for what it need not compute."""
        how = ended(self.connection, run)
        view = one(
            self.connection, "SELECT view::text FROM gavial.queries WHERE result = to_regclass(%s)", name
        )
        missing = self._rows(f"TABLE {view} EXCEPT ALL TABLE {name}")
        wrong = self._rows(f"TABLE {name} EXCEPT ALL TABLE {view}")
        if how.state == "failed":
            self.counts["fails" if missing is None else "fails only here"] += 1
            if (how.sqlstate or "")[:2] not in OF_DATA:
                self.differences.append(f"{title}: {how}\n{text}")
        elif missing is None or wrong is None:
            self.counts["fails only there"] += 1
        else:
            self.counts["compared"] += 1
            if missing or wrong:
                self.differences.append(f"{title}: missing {missing}, wrong {wrong}\n{text}")

    def _rows(self, question: str) -> list[tuple[object, ...]] | None:
        try:
            return self.connection.execute(question.encode()).fetchall()
        except psycopg.DatabaseError:
            return None
