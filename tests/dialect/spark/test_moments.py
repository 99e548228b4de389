"""Functions of dates, timestamps and intervals far away and infinite: Spark's texts are PostgreSQL's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Final, TypeAlias

import numpy as np
import psycopg
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructField, StructType

from catalog.postgres.storage import Plain, StoredColumn
from catalog.postgres.types import DATE, INT4, INTERVAL, TIMESTAMP, TIMESTAMPTZ
from coordinator.publish.copy_rows import as_csv
from dialect.expressions.moment_text import INFINITE_MICROSECONDS, read_timestamp
from dialect.expressions.scalar import Call
from dialect.spark.comparisons import COMPARISONS
from dialect.spark.dates import DATES
from executors.spark.failures import FAILURES, as_error, first_line
from executors.spark.session import SparkSettings, close_session, open_session
from executors.spark.types import data_type
from sources.decode.nulls import spread
from sources.decode.text import decode_texts
from tests.support.capture.databases import one
from tests.support.running.servers import Server
from tests.support.spark.cases import Case, function_cases, literal
from tests.support.spark.oracle import ATTEMPT, SETTINGS, SIGNATURES

pytestmark = pytest.mark.service

Texts: TypeAlias = tuple[str | None, ...]
MOMENTS: Final = (DATE, TIMESTAMP, TIMESTAMPTZ, INTERVAL)
FAR: Final[dict[int, tuple[str | None, ...]]] = {
    DATE: (
        *(None, "infinity", "-infinity", "4714-11-24 BC", "0044-03-15 BC", "0001-12-31 BC", "0001-01-01"),
        *("2000-02-29", "9999-12-31", "10000-01-01", "294246-12-31", "294277-01-01", "5874897-12-31"),
    ),
    TIMESTAMP: (
        *(None, "infinity", "-infinity", "4714-11-24 00:00:00 BC", "0044-03-15 23:59:59.999999 BC"),
        *("0001-12-31 12:00:00 BC", "2000-02-29 00:00:00", "10000-01-01 00:00:00.5", "294246-12-31 00:00:00"),
    ),
    TIMESTAMPTZ: (
        *(None, "infinity", "-infinity", "4714-11-24 00:00:00+00 BC", "0001-12-31 12:00:00+00 BC"),
        *("2000-02-29 00:00:00+00", "10000-01-01 00:00:00.5+00", "294246-12-31 00:00:00+00"),
    ),
    INTERVAL: (None, "00:00:00", "1 mon", "-1 mons", "30 days", "-5000 years", "290000 years", "-00:00:01"),
    INT4: (None, "0", "1", "-1", "3652059", "2147483647", "-2147483648"),
}
DIFFERENCE: Final = 2031  # of timestamps
EXTRACTS: Final = (6199, 6202)
TOO_LATE: Final = re.compile(r"2942(4[7-9]|[56]\d|7[0-6])-\d\d-\d\d ")
INFINITE_INTERVALS: Final = ("infinity", "-infinity")


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    opened = open_session(SparkSettings(tmp_path_factory.mktemp("spark"), master="local[2]"))
    yield opened
    close_session(opened)


class Both:
    """A server and Spark, asked the same."""

    def __init__(self, major: int, connection: psycopg.Connection, session: SparkSession) -> None:
        self.connection, self.session = connection, session
        self.far = dict(FAR)
        if major >= 17:
            self.far[INTERVAL] += INFINITE_INTERVALS

    def cases(self) -> list[Case]:
        """Of each function all of whose arguments have far values."""
        signatures = self.connection.execute(SIGNATURES, (sorted({*DATES, *COMPARISONS}),)).fetchall()
        return [
            case
            for case in function_cases(signatures)
            if any(argument.oid in MOMENTS for argument in case.arguments)
            and all(argument.oid in self.far for argument in case.arguments)
        ]

    def differences(self, case: Case) -> list[str]:
        """Rows for which the texts, or the states of errors, are not the same."""
        every = product(*(self.far[argument.oid] for argument in case.arguments))
        rows = [row for row in every if not _is_documented(case, row)]
        told = self._told(case, rows)
        self._view(case, rows)
        fails = [number for number, (state, _) in enumerate(told) if state is not None]
        found = self._texts(case, [number for number in range(len(rows)) if number not in fails])
        wrong = [
            f"{case.name} {rows[number]}: PostgreSQL {told[number][1]}, Spark {text}"
            for number, text in found.items()
            if text != told[number][1]
        ]
        tried: set[str | None] = set()
        for number in fails:
            if told[number][0] not in tried:
                tried.add(told[number][0])
                state = self._state(case, number)
                if state != told[number][0]:
                    wrong.append(f"{case.name} {rows[number]}: {told[number][0]}, Spark {state}")
        return wrong

    def _told(self, case: Case, rows: Sequence[Texts]) -> list[tuple[str | None, str | None]]:
        expressions = [case.written.format(*map(literal, row, case.arguments)) for row in rows]
        asked = "SELECT pg_temp.attempt(e) FROM unnest(%s::text[]) WITH ORDINALITY AS t(e, n) ORDER BY n"
        told = self.connection.execute(asked, (expressions,)).fetchall()
        return [
            ("22008", None) if _is_too_wide(case, row) else _as_kept(*found)
            for row, (found,) in zip(rows, told, strict=True)
        ]

    def _view(self, case: Case, rows: Sequence[Texts]) -> None:
        columns = {"id": pa.array(range(len(rows)), pa.int64())}
        types = [StructField("id", data_type(Plain.INT64))]
        for place, (type_, storage) in enumerate(zip(case.arguments, case.storages, strict=True)):
            column = StoredColumn(f"c{place}", type_, storage)
            texts = [row[place] for row in rows]
            values = decode_texts(column, pa.array([text for text in texts if text is not None], pa.string()))
            columns[column.name] = spread(values, np.array([text is not None for text in texts]))
            types.append(StructField(column.name, data_type(storage)))
        self.session.createDataFrame(pa.table(columns), StructType(types)).createOrReplaceTempView("far")

    def _texts(self, case: Case, numbers: Sequence[int]) -> dict[int, str | None]:
        """Spark's texts; where a row is an error of Spark's, what it says instead."""
        wanted = ", ".join(map(str, numbers))
        value = f"CASE WHEN id IN ({wanted}) THEN {case.rendered.sql} END"
        try:
            table = self.session.sql(f"SELECT id, {value} AS v FROM far ORDER BY id").toArrow()
        except FAILURES as error:
            if len(numbers) == 1:
                return {numbers[0]: first_line(error)}
            middle = len(numbers) // 2
            return self._texts(case, numbers[:middle]) | self._texts(case, numbers[middle:])
        found = self._read_back(case, table)
        return {number: found[number] for number in numbers}

    def _read_back(self, case: Case, table: pa.Table) -> dict[int, str | None]:
        """As PostgreSQL reads what is copied to it, and writes it again."""
        type_ = one(self.connection, "SELECT format_type(%s, NULL)", case.scalar.type.oid)
        self.connection.execute(f"CREATE TEMP TABLE back (id int, v {type_})".encode())
        with self.connection.cursor().copy("COPY back FROM STDIN (FORMAT csv)") as copy:
            copy.write(as_csv(table))
        rows = self.connection.execute("SELECT id, v::text FROM back ORDER BY id").fetchall()
        self.connection.execute("DROP TABLE back")
        return dict(rows)

    def _state(self, case: Case, number: int) -> str:
        try:
            sql = f"SELECT {case.rendered.sql} AS v FROM far WHERE id = {number}"
            return str(self.session.sql(sql).toArrow())
        except FAILURES as error:
            return getattr(as_error(error), "sqlstate", str(error))


def _as_kept(state: str | None, text: str | None) -> tuple[str | None, str | None]:
    """Timestamps of the last thirty years that PostgreSQL has cannot be stored: those have to be errors."""
    return ("22008", None) if text is not None and TOO_LATE.match(text) else (state, text)


def _is_too_wide(case: Case, row: Texts) -> bool:
    """A difference of more microseconds than there are: PostgreSQL before 17 has another one for it."""
    if not isinstance(case.scalar, Call) or case.scalar.function != DIFFERENCE or None in row:
        return False
    later, earlier = (read_timestamp(text) for text in row if text is not None)
    least, greatest = INFINITE_MICROSECONDS
    return not least <= later - earlier <= greatest


def _is_documented(case: Case, row: Texts) -> bool:
    """Where docs/values.md says that an answer of PostgreSQL, or of its newer versions, is an error here."""
    infinite = any(value is not None and value.endswith("infinity") for value in row)
    if not isinstance(case.scalar, Call):
        return False
    growing = case.scalar.function in EXTRACTS and case.name.split()[-1] in ("year", "epoch")
    return infinite and (growing or case.scalar.function == DIFFERENCE)


@pytest.mark.parametrize("major", [15, 18])
def test_far_and_infinite_moments(request: pytest.FixtureRequest, session: SparkSession, major: int) -> None:
    server = request.getfixturevalue(f"postgres{major}")
    assert isinstance(server, Server)
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        for setting in SETTINGS:
            connection.execute(setting)
        connection.execute(ATTEMPT)
        both = Both(major, connection, session)
        cases = both.cases()
        wrong = [difference for case in cases for difference in both.differences(case)]
    assert len(cases) > 50
    assert not wrong, "\n".join(wrong)
