"""DuckDB in this process: computes firings that are not too large for it, or says that it does not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import duckdb
import pyarrow as pa

from catalog.errors import EngineFailed
from catalog.queries.arrangements import ArrangementRow
from dialect.duckdb.rendered import NotWritten
from dialect.expressions.environment import Environment
from executors.duckdb.abilities import CONTENTS_SHARE
from executors.duckdb.arrangements import Arrangements, Room
from executors.duckdb.compile import Statement, compile_subplan
from executors.duckdb.contents import FEWEST_ROWS, Contents
from executors.duckdb.database import open_database
from executors.duckdb.inputs import Statements
from executors.duckdb.stepping import GaveUp, NotComputed, OutOfMemory, Stepping
from executors.executor import Buffers, Firing, Outcome, StateBudget
from executors.rows import Schema, arrow_schema
from planner.cost.weights import IN_PROCESS
from planner.delta.weighted import Subplan

_KEPT_STATEMENTS: Final = 1000
_DROPPED: Final = "it needed the memory of tables that were held to be read again"


@dataclass(frozen=True, slots=True)
class _Database:
    """A database in memory, and what is kept beside it to be read again."""

    connection: duckdb.DuckDBPyConnection
    statements: Statements
    contents: Contents
    arrangements: Arrangements


class DuckDBExecutor:
    """One database in memory, which holds contents that are read again and again; used by one thread."""

    def __init__(
        self, most_rows: float, most_bytes: int, room: Room, fewest_held_rows: int = FEWEST_ROWS
    ) -> None:
        self._most_rows = most_rows
        self._most_bytes = most_bytes
        self._room = room
        self._fewest_held_rows = fewest_held_rows
        self._database: _Database | None = None
        self._statements: dict[tuple[object, ...], tuple[Environment, Statement | str]] = {}

    def fire(self, firing: Firing, buffers: Buffers) -> Outcome:
        """The change of the buffer that the subplan writes; NotComputed where another engine has to."""
        rows_in = firing.rows_in(buffers)
        if rows_in == 0 and not firing.first:
            return Outcome(arrow_schema(firing.schema).empty_table(), 0, 0)
        statement = self.statement(firing.subplan, firing.schemas, firing.environment)
        if rows_in > self._most_rows:
            raise NotComputed(f"{rows_in} changed rows")
        try:
            return Outcome(self._computed(firing, buffers, statement), rows_in, 1, IN_PROCESS)
        except OutOfMemory:
            if not self._drop_contents():
                raise
        # What is held is only kept to be read again, and may have taken half of the memory.
        rows = self._computed(firing, buffers, statement)
        return Outcome(rows, rows_in, 1, IN_PROCESS, reason=_DROPPED, repeated=True)

    def _computed(self, firing: Firing, buffers: Buffers, statement: Statement) -> pa.Table:
        """The rows of a statement."""
        with self._errors_as_not_computed():
            database = self._opened()
            stepping = Stepping(
                statement=statement,
                statements=database.statements,
                contents=database.contents,
                arrangements=database.arrangements,
                firing=firing,
                buffers=buffers,
                most_rows=self._most_rows,
            )
            return stepping.run().cast(arrow_schema(firing.schema))

    def _drop_contents(self) -> bool:
        """Give back the memory of contents that are held; False where there were none."""
        if self._database is None or self._database.contents.are_empty:
            return False
        self._database.contents.clear()
        return True

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

    def kept(self, folder: str) -> Sequence[ArrangementRow]:
        """The arrangements of buffers below a folder."""
        return () if self._database is None else self._database.arrangements.listed(folder)

    def allow(self, states: StateBudget) -> None:
        """Keep no more for a query than this."""
        if self._database is not None:
            self._database.arrangements.allow(states)

    def interrupt(self) -> None:
        """End the statement that runs."""
        if self._database is not None:
            self._database.connection.interrupt()

    def close(self) -> None:
        """Give back the memory."""
        if self._database is not None:
            self._database.arrangements.close()
            self._database.connection.close()

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
            raise OutOfMemory("more memory than --in-process-memory is needed") from error
        except (duckdb.Error, pa.ArrowException) as error:
            raise GaveUp(str(error).partition("\n")[0]) from error

    def _opened(self) -> _Database:
        if self._database is None:
            connection = open_database(self._most_bytes)
            statements = Statements(connection, self._most_bytes)
            contents = Contents(connection, int(CONTENTS_SHARE * self._most_bytes), self._fewest_held_rows)
            arrangements = Arrangements(lambda: open_database(self._most_bytes), self._room)
            self._database = _Database(connection, statements, contents, arrangements)
        return self._database
