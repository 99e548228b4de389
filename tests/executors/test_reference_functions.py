"""Functions, aggregates and casts of the reference against PostgreSQL's, over edge values (G8)."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import psycopg
import pytest

from catalog.errors import Error
from catalog.postgres import types
from catalog.postgres.types import SqlType
from dialect.expressions.scalar import OWN_FUNCTIONS
from executors.reference.values.aggregate_functions import AGGREGATES
from executors.reference.values.casts import LENGTHS
from executors.reference.values.functions import FUNCTIONS, LENIENT, call, shortened
from executors.reference.values.input import read
from executors.reference.values.output import write
from tests.support.running.servers import Server

pytestmark = pytest.mark.service

MOST_CASES: Final = 250
TEXTS: Final = (
    "",
    "a",
    "abc",
    "ABC",
    " a b ",
    "a%b",
    "a_c",
    "äöß",
    "%b%",
    "a\\%b",
    "ab",
    "a,b,c",
    ",",
    "abcabc",
)
NUMBERS: Final = ("0", "1", "-1", "7", "-3", "32767", "-32768")
WHOLE: Final = (*NUMBERS, "2147483647", "-2147483648")
EDGES: Final[Mapping[int, Sequence[str]]] = {
    types.BOOL: ("t", "f"),
    types.INT2: NUMBERS,
    types.INT4: WHOLE,
    types.INT8: (*WHOLE, "9223372036854775807", "-9223372036854775808"),
    types.OID: ("0", "5", "4294967295"),
    types.NUMERIC: (
        *("0", "0.00", "1", "-1", "1.50", "-2.5", "2.5", "0.001", "12345.6789", "9999999999.99", "1e20"),
        *("0.0000000003", "-99999.5", "10000", "9999", "3.14159265358979323846", "100"),
    ),
    types.FLOAT4: (
        "0",
        "-0",
        "1",
        "-1.5",
        "2.5",
        "1e30",
        "1e-30",
        "NaN",
        "Infinity",
        "-Infinity",
        "0.1",
        "3.7",
    ),
    types.FLOAT8: (
        *("0", "-0", "1", "-1.5", "2.5", "1e300", "1e-300", "NaN", "Infinity", "-Infinity", "0.1", "3.7"),
        *("1e15", "123456789012345678", "0.0001", "0.00001", "3"),
    ),
    types.TEXT: TEXTS,
    types.VARCHAR: TEXTS,
    types.BPCHAR: ("", "a", "abc", "AB"),
    types.NAME: ("", "a", "abc", "a%b"),
    types.CHAR: ("a", "b", "Z"),
    types.BYTEA: ("\\x", "\\x00", "\\x6162", "\\xff"),
    types.UUID: ("6dd5aa2a-8d3e-4c3c-9e51-7cde4a1f3c2b", "00000000-0000-0000-0000-000000000000"),
    types.DATE: (
        "2020-02-29",
        "2019-12-31",
        "2000-01-01",
        "1999-12-31",
        "0001-01-01",
        "9999-12-31",
        "2024-03-31",
    ),
    types.TIME: ("00:00:00", "23:59:59.999999", "12:30:00.5"),
    types.TIMESTAMP: (
        *(
            "2020-02-29 00:00:00",
            "2019-12-31 23:59:59.999999",
            "2000-01-01 12:30:00.5",
            "1969-12-31 23:00:00",
        ),
        *("2024-03-31 10:00:00", "0001-01-01 00:00:00"),
    ),
    types.TIMESTAMPTZ: ("2020-02-29 00:00:00+00", "2019-12-31 23:59:59.999999+00", "1969-12-31 23:00:00+00"),
    types.INTERVAL: (
        *(
            "00:00:00",
            "1 mon",
            "30 days",
            "-1 days +02:03:00",
            "1 year 2 mons 3 days 04:05:06.789",
            "-14 mons",
            "24:00:00",
        ),
        *("720:00:00", "1 mon -1 days"),
    ),
}
POLYMORPHIC: Final = {
    types.ANYARRAY: ((1007, "{1,2,3}"), (1007, "{}"), (1007, "{1,NULL}"), (1009, "{b,a}"), (1007, "{1,2}")),
    types.ANY: ((types.INT4, "1"), (types.TEXT, "a"), (types.BOOL, "t"), (types.NUMERIC, "1.50")),
    types.ANYNONARRAY: ((types.INT4, "1"), (types.BOOL, "t"), (types.DATE, "2020-02-29")),
}
BEYOND: Final = {"!22008": ("BC", "infinity"), "!22003": ("NaN", "Infinity")}
TOLERANCES: Final = {types.FLOAT4: 1e-6, types.FLOAT8: 1e-14}
ARRAYS: Final = {1007, 1009}
FIELDS: Final = (
    *("year", "month", "day", "hour", "minute", "second", "milliseconds", "microseconds", "epoch", "quarter"),
    *("dow", "doy", "isodow", "isoyear", "decade", "century", "millennium"),
)
TRY: Final = """
    CREATE FUNCTION pg_temp.try(expression text) RETURNS text LANGUAGE plpgsql AS $$
    DECLARE result text;
    BEGIN
        EXECUTE 'SELECT CASE WHEN x IS NOT NULL THEN format(''%s'', x) END FROM (SELECT ' || expression
            || ' AS x) AS s' INTO result;
        RETURN '=' || result;
    EXCEPTION WHEN OTHERS THEN RETURN '!' || SQLSTATE;
    END $$
"""
SIGNATURES: Final = """
    SELECT p.oid::int8, p.proname::text, ARRAY(SELECT unnest(p.proargtypes)::int8), p.prorettype::int8
    FROM pg_catalog.pg_proc AS p WHERE p.oid = ANY (%s) ORDER BY p.oid
"""


@pytest.fixture(scope="module", params=[15, 18])
def connection(request: pytest.FixtureRequest) -> Iterator[psycopg.Connection[Any]]:
    server: Server = request.getfixturevalue(f"postgres{request.param}")
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(TRY)
        yield connection


def tried(connection: psycopg.Connection[Any], expressions: Sequence[str]) -> list[str | None]:
    """What PostgreSQL makes of each expression: `=` and its text, `!` and its SQLSTATE, None for NULL."""
    query = "SELECT pg_temp.try(e) FROM unnest(%s::text[]) WITH ORDINALITY AS u (e, n) ORDER BY n"
    return [row[0] for row in connection.execute(query, [list(expressions)])]


def literal(oid: int, text: str | None) -> str:
    quoted = "NULL" if text is None else "'" + text.replace("'", "''") + "'"
    return f"{quoted}::{NAMES[oid]}"


NAMES: Final = {
    types.BOOL: "bool",
    types.INT2: "int2",
    types.INT4: "int4",
    types.INT8: "int8",
    types.OID: "oid",
    types.NUMERIC: "numeric",
    types.FLOAT4: "float4",
    types.FLOAT8: "float8",
    types.TEXT: "text",
    types.VARCHAR: "varchar",
    types.BPCHAR: "bpchar",
    types.NAME: "name",
    types.CHAR: '"char"',
    types.BYTEA: "bytea",
    types.UUID: "uuid",
    types.DATE: "date",
    types.TIME: "time",
    1007: "int4[]",
    types.TIMESTAMP: "timestamp",
    types.TIMESTAMPTZ: "timestamptz",
    types.INTERVAL: "interval",
    1009: "text[]",
}


def arguments_of(name: str, declared: Sequence[int]) -> list[tuple[tuple[int, str], ...]]:
    """Some choices of arguments, each with its type."""
    choices: list[Sequence[tuple[int, str]]] = [
        POLYMORPHIC[oid] if oid in POLYMORPHIC else [(oid, text) for text in EDGES[oid]] for oid in declared
    ]
    if name in ("extract", "date_part", "date_trunc"):
        choices[0] = [(types.TEXT, field) for field in FIELDS]
    if name in ("extract", "date_part") and declared[1] == types.INTERVAL:
        choices[0] = [choice for choice in choices[0] if choice[1] != "quarter"]
    if name == "like_escape":
        choices[1] = [(types.TEXT, escape) for escape in ("\\", "", "#", "a")]
    if name in ("left", "right", "lpad", "rpad", "repeat", "round", "trunc") and len(choices) > 1:
        choices[1] = [(types.INT4, text) for text in NUMBERS[:-2]]
    every = [case for case in itertools.product(*choices) if len({oid for oid, _ in case} & ARRAYS) < 2]
    return every if len(every) <= MOST_CASES else random.Random(0).sample(every, MOST_CASES)


def ours(oid: int, name: str, arguments: Sequence[tuple[int, str]], result: int) -> str | None:
    given = [SqlType(argument) for argument, _ in arguments]
    values = [read(text, type) for (_, text), type in zip(arguments, given, strict=True)]
    try:
        value = call(oid, name, values, given)
    except Error as error:
        return "!" + error.sqlstate
    return None if value is None else "=" + write(value, SqlType(result))


def same(theirs: str | None, mine: str | None, result: int) -> bool:
    """Whether the two are one outcome, but for a float's last bits and what Python cannot hold."""
    if theirs is None or mine is None:
        return theirs is mine
    if mine in BEYOND:
        return theirs == mine or theirs.endswith(BEYOND[mine]) or len(theirs.split("-")[0]) > len("=9999")
    if result in TOLERANCES and theirs[0] == mine[0] == "=":
        one, other = float(theirs[1:]), float(mine[1:])
        return repr(one) == repr(other) or math.isclose(one, other, rel_tol=TOLERANCES[result])
    return theirs == mine


def test_names(connection: psycopg.Connection[Any]) -> None:
    """Every oid is that of the function meant, and comparisons those behind the operator."""
    named = {oid: name for oid, (name, _) in {**FUNCTIONS, **LENIENT, **AGGREGATES, **LENGTHS}.items()}
    assert {named.pop(oid) for oid in OWN_FUNCTIONS} == {"round", "beyond", "long_sum", "+", "-", "*"}
    found = {oid: name for oid, name, _, _ in connection.execute(SIGNATURES, [list(named)])}
    query = (
        "SELECT oprcode::oid::int8, oprname::text FROM pg_catalog.pg_operator WHERE oprcode::oid = ANY (%s)"
    )
    operators = set(connection.execute(query, [list(named)]))
    assert {
        oid: name for oid, name in named.items() if found.get(oid) != name and (oid, name) not in operators
    } == {}


MODIFIED: Final = (
    (
        types.NUMERIC,
        "numeric(5,2)",
        (5 << 16 | 2) + 4,
        ("1.005", "-1.005", "999.994", "999.995", "0", "12345", "0.004"),
    ),
    (types.NUMERIC, "numeric(3)", (3 << 16) + 4, ("1.5", "-2.5", "999.4", "999.5")),
    (types.BPCHAR, "character(2)", 6, ("", "a", "abc")),
    (types.VARCHAR, "varchar(2)", 6, ("", "a", "abc", "äöß")),
    (
        types.TIMESTAMP,
        "timestamp(0)",
        0,
        ("2020-01-01 00:00:00.5", "1999-01-01 00:00:00.5", "2020-12-31 23:59:59.6"),
    ),
    (types.TIMESTAMP, "timestamp(3)", 3, ("2020-01-01 00:00:00.1235", "1999-12-31 23:59:59.9995")),
    (types.TIMESTAMPTZ, "timestamptz(1)", 1, ("2020-01-01 00:00:00.25+00", "2020-01-01 00:00:00.349999+00")),
    (types.TIME, "time(2)", 2, ("12:30:00.125", "12:30:00.124999")),
)


def test_modifiers(connection: psycopg.Connection[Any]) -> None:
    """A cast to a type with a modifier."""
    casts = connection.execute(
        "SELECT castsource::int8, castfunc::int8 FROM pg_cast WHERE castsource = casttarget"
    )
    functions: dict[int, int] = dict(casts.fetchall())
    differences: list[str] = []
    for oid, name, typmod, texts in MODIFIED:
        expressions = [f"{literal(oid, text)}::{name}" for text in texts]
        for text, expression, theirs in zip(texts, expressions, tried(connection, expressions), strict=True):
            type = SqlType(oid, typmod)
            try:
                mine = "=" + write(shortened(read(text, type), functions[oid], type), type)
            except Error as error:
                mine = "!" + error.sqlstate
            if theirs != mine:
                differences.append(f"{expression}: {theirs} {mine}")
    assert differences == []


def groups_of(oid: int) -> list[list[str | None]]:
    """Some groups of values of the type, NULLs among them; no infinities, whose sums depend on the order."""
    known = [value for value in EDGES[oid] if value not in ("NaN", "Infinity", "-Infinity")]
    chosen = [[random.Random(seed).choice([*known, None]) for _ in range(seed)] for seed in range(8)]
    return [[], [None], *chosen, [known[0], known[0]]]


def test_aggregates(connection: psycopg.Connection[Any]) -> None:
    """Every aggregate of one argument gives what PostgreSQL's does."""
    differences: list[str] = []
    for oid, name, declared, result in connection.execute(SIGNATURES, [[*AGGREGATES]]).fetchall():
        if len(declared) != 1 or declared[0] not in EDGES:
            continue
        type = SqlType(declared[0])
        for group in groups_of(type.oid):
            rows = ", ".join(f"({literal(type.oid, text)})" for text in [*group, None])
            (theirs,) = tried(connection, [f"(SELECT {name}(x) FROM (VALUES {rows}) AS v (x))"])
            value = AGGREGATES[oid][1](
                [(None if text is None else read(text, type),) for text in [*group, None]]
            )
            mine = None if value is None else "=" + write(value, SqlType(result))
            if not same(theirs, mine, result):
                differences.append(f"{name} of {group}: {theirs} {mine}")
    assert differences == []


def test_functions(connection: psycopg.Connection[Any]) -> None:
    """Every function gives what PostgreSQL's does, or its SQLSTATE."""
    differences: list[str] = []
    for oid, name, declared, result in connection.execute(SIGNATURES, [[*FUNCTIONS, *LENIENT]]).fetchall():
        cases = arguments_of(name, declared)
        calls = [
            f'pg_catalog."{name}"({", ".join(literal(type, text) for type, text in case)})' for case in cases
        ]
        for case, expression, theirs in zip(cases, calls, tried(connection, calls), strict=True):
            mine = ours(oid, name, case, result)
            if not same(theirs, mine, result):
                differences.append(f"{expression}: {theirs} {mine}")
    assert differences == []
