"""DuckDB in this process: computes firings of few rows, or says that it does not."""

from __future__ import annotations

import atexit
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import duckdb
import pyarrow as pa

from catalog.errors import EngineFailed
from dialect.duckdb.division import QUOTIENT_FUNCTION, quotient_text
from dialect.duckdb.rendered import NotWritten
from dialect.spark.expressions import Environment
from executors.duckdb.compile import Statement, compile_subplan, consolidated, view_of
from executors.duckdb.contents import Contents
from executors.duckdb.relation import Relation
from executors.duckdb.sources import source_of
from executors.executor import Buffers, Firing, Outcome, range_at
from executors.rows import Schema, arrow_schema
from planner.delta.weighted import Subplan

NAME: Final = "DuckDB"
READ_TO_CHANGED: Final = 10
"""A firing may read so many times as many rows as may have changed: most of them are only looked at."""

_KEPT_STATEMENTS: Final = 1000


class NotComputed(Exception):
    """A firing that is not for this process, and why: another engine computes it."""


def open_database(most_bytes: int) -> duckdb.DuckDBPyConnection:
    """A database in memory that writes no file, fetches nothing, and computes in the thread that asks."""
    database = duckdb.connect(
        config={
            "threads": 1,
            "memory_limit": f"{most_bytes}B",
            "temp_directory": "",
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "python_enable_replacements": False,
        }
    )
    database.create_function(QUOTIENT_FUNCTION, quotient_text, ["VARCHAR", "VARCHAR"], "VARCHAR")
    atexit.register(database.close)  # what is still open then is reported on standard error
    return database


class DuckDBExecutor:
    """One database in memory, which holds contents that are read again and again; used by one thread."""

    def __init__(self, most_rows: int, most_bytes: int) -> None:
        self._most_rows = most_rows
        self._most_bytes = most_bytes
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._contents: Contents | None = None
        self._statements: dict[tuple[object, ...], tuple[Environment, Statement | str]] = {}

    def fire(self, firing: Firing, buffers: Buffers) -> Outcome:
        """The change of the buffer that the subplan writes; NotComputed where another engine has to."""
        rows_in = sum(buffers.count(buffer, firing.ranges[buffer]) for buffer in firing.changed)
        if rows_in == 0 and not firing.first:
            return Outcome(arrow_schema(firing.schema).empty_table(), 0, 0)
        statement = self.statement(firing.subplan, firing.schemas, firing.environment)
        if rows_in > self._most_rows:
            raise NotComputed(f"{rows_in} changed rows")
        with self._errors_as_not_computed():
            tables: dict[str, pa.Table] = {}
            sources = self._sources(statement, firing, buffers, tables)
            sql = f"WITH {', '.join([*sources, statement.steps])} {statement.outcome}"
            rows = self._rows(sql, tables).cast(arrow_schema(firing.schema))
        return Outcome(rows, rows_in, 1, NAME)

    def statement(
        self, subplan: Subplan, schemas: Mapping[int, Schema], environment: Environment
    ) -> Statement:
        """The statement of a subplan, which is written once; NotComputed where there is none."""
        buffers = (subplan.writes, *subplan.reads)
        stored = tuple((buffer, tuple(schemas[buffer].items())) for buffer in buffers)
        key = (subplan, stored, id(environment))
        # The environment is kept with its statement, so that no other one has its identity.
        _, statement = self._statements.get(key, (environment, None))
        if statement is None:
            try:
                statement = compile_subplan(subplan, schemas, environment)
            except NotWritten as error:
                statement = str(error)
            if len(self._statements) >= _KEPT_STATEMENTS:
                self._statements.clear()
            self._statements[key] = environment, statement
        if isinstance(statement, str):
            raise NotComputed(statement)
        return statement

    def interrupt(self) -> None:
        """End the statement that runs."""
        if self._connection is not None:
            self._connection.interrupt()

    def close(self) -> None:
        """Give back the memory."""
        if self._connection is not None:
            self._connection.close()

    def _sources(
        self, statement: Statement, firing: Firing, buffers: Buffers, tables: dict[str, pa.Table]
    ) -> list[str]:
        """A WITH for each part of a buffer that the statement reads."""
        _, contents = self._opened()
        contents.begin()
        sources, rows = [], 0
        for buffer, moment in statement.reads:
            schema = firing.schemas[buffer]
            parts = buffers.parts(buffer, range_at(firing.ranges[buffer], moment))
            rows += sum(part.rows for part in parts)
            if rows > READ_TO_CHANGED * self._most_rows:
                raise NotComputed(f"{rows} rows to read")
            source = source_of(parts, schema, buffers.names(buffer), tables, contents)
            if firing.consolidate:
                source = consolidated(Relation(source, schema)).sql
            sources.append(f"{view_of(buffer, moment)} AS ({source})")
        return sources

    def _rows(self, sql: str, tables: Mapping[str, pa.Table]) -> pa.Table:
        connection, _ = self._opened()
        try:
            for name, table in tables.items():
                connection.register(name, table)
            return connection.sql(sql).to_arrow_table()
        finally:
            for name in tables:
                connection.unregister(name)

    @contextmanager
    def _errors_as_not_computed(self) -> Iterator[None]:
        """Whatever goes wrong is left to the other engine, but for an interruption."""
        try:
            yield
        except duckdb.InterruptException:
            raise EngineFailed("the computation was interrupted") from None
        except NotWritten as reason:
            raise NotComputed(str(reason)) from None
        except duckdb.OutOfMemoryException as error:
            if self._contents is not None:
                self._contents.clear()
            raise NotComputed("more memory than --in-process-memory is needed") from error
        except (duckdb.Error, pa.ArrowException) as error:
            raise NotComputed(str(error).partition("\n")[0]) from error

    def _opened(self) -> tuple[duckdb.DuckDBPyConnection, Contents]:
        if self._connection is None or self._contents is None:
            self._connection = open_database(self._most_bytes)
            self._contents = Contents(self._connection, self._most_bytes // 2)
        return self._connection, self._contents
