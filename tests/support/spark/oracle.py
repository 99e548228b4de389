"""PostgreSQL as the oracle of functions and casts: what it gives for their edge values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import psycopg

from catalog.postgres import functions
from dialect.expressions.scalar import OWN_FUNCTIONS, Call
from dialect.spark.casts import FUNCTIONS as CASTS
from dialect.spark.equality import comparable
from dialect.spark.functions import FUNCTIONS
from dialect.spark.numbers.numerics import NUMERICS
from executors.reference.values.values import Value
from tests.support.spark.cases import SIGNED, Case, cast_cases, function_cases, has_no_decimal, literal
from tests.support.spark.values import value_of

# Each is PL/pgSQL's own transaction, so that an error is a value.
ATTEMPT = """
    CREATE FUNCTION pg_temp.attempt(expression text) RETURNS text[] LANGUAGE plpgsql AS $$
    DECLARE found text;
    BEGIN
        EXECUTE 'SELECT (' || expression || ')::text' INTO found;
        RETURN ARRAY[NULL, found];
    EXCEPTION WHEN OTHERS THEN
        RETURN ARRAY[SQLSTATE, NULL];
    END $$
"""
SIGNATURES = """
    SELECT oid::int8, proname::text, ARRAY(SELECT unnest(proargtypes)::int8), prorettype::int8
    FROM pg_catalog.pg_proc WHERE oid = ANY (%s::oid[]) ORDER BY oid
"""
FAR = "far"
"""The state of a value that Python has no date for: tests/dialect/spark/test_moments.py compares those."""

OUTSIDE = re.compile(r"\d{5,}-\d\d-.*|\d+-\d\d-.* BC")
SETTINGS = (
    "SET TimeZone = 'UTC'",
    "SET DateStyle = 'ISO, YMD'",
    "SET IntervalStyle = 'postgres'",
    "SET standard_conforming_strings = on",
)
COMPUTED = frozenset(NUMERICS) - {functions.SCALE, functions.TRIM_SCALE, functions.NUMERIC_UPLUS, *SIGNED}


@dataclass(frozen=True)
class Told:
    """What PostgreSQL says of a row: a value, or an error's state."""

    state: str | None
    text: str | None


@dataclass(frozen=True)
class Asked:
    """A case and what PostgreSQL says of its rows."""

    case: Case
    by_postgres: tuple[Told, ...]

    @property
    def told(self) -> tuple[Told, ...]:
        """What Spark is to give: an error where it is to compute with what has no decimal."""
        return tuple(
            _computed(self.case, row, told)
            for row, told in zip(self.case.rows(), self.by_postgres, strict=True)
        )

    @property
    def failing(self) -> list[int]:
        return [number for number, answer in enumerate(self.told) if answer.state is not None]

    @property
    def defined(self) -> str:
        """Where PostgreSQL has a value, as a condition."""
        return f"id NOT IN ({', '.join(map(str, self.failing))})" if self.failing else "TRUE"

    @property
    def guarded(self) -> str:
        """The expression, NULL where PostgreSQL has an error."""
        return f"CASE WHEN {self.defined} THEN {self.case.rendered.sql} END"

    @property
    def guarded_key(self) -> str:
        """The same of what values are equal by."""
        return f"CASE WHEN {self.defined} THEN {comparable(self.case.rendered).sql} END"

    @property
    def expected(self) -> list[Value]:
        return [value_of(answer.text, self.case.scalar.type) for answer in self.told]

    @property
    def expected_by_postgres(self) -> list[Value]:
        """The values that PostgreSQL has."""
        return [value_of(answer.text, self.case.scalar.type) for answer in self.by_postgres]


def _told(state: str | None, text: str | None) -> Told:
    """A distant date is compared elsewhere."""
    if text is not None and OUTSIDE.fullmatch(text):
        return Told(FAR, None)
    return Told(state, text)


def _computed(case: Case, row: Sequence[str | None], told: Told) -> Told:
    """Numbers that a batch has only the text of are compared and shown, and not computed with."""
    if has_no_decimal(row) and isinstance(case.scalar, Call) and case.scalar.function in COMPUTED:
        return Told("22003", None)
    return told


class Oracle:
    """PostgreSQL, which says what each expression gives."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection
        self.asked = [Asked(case, tuple(self.told(case, case.written))) for case in self._cases()]

    @staticmethod
    def of(connection: psycopg.Connection) -> Oracle:
        """What a server says in a session that reads and writes values as ours do."""
        for setting in SETTINGS:
            connection.execute(setting)
        connection.execute(ATTEMPT)
        return Oracle(connection)

    def _cases(self) -> list[Case]:
        oids = sorted({*FUNCTIONS, *CASTS} - OWN_FUNCTIONS)
        signatures = self._connection.execute(SIGNATURES, (oids,)).fetchall()
        assert [signature[0] for signature in signatures] == oids
        return [*function_cases(signatures), *cast_cases()]

    def told(self, case: Case, written: str) -> list[Told]:
        """What PostgreSQL makes of the case written so."""
        expressions = [written.format(*map(literal, row, case.arguments)) for row in case.rows()]
        rows = self._connection.execute(
            "SELECT pg_temp.attempt(e) FROM unnest(%s::text[]) WITH ORDINALITY AS t(e, n) ORDER BY n",
            (expressions,),
        )
        return [_told(*row[0]) for row in rows]
