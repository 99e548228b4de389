"""PostgreSQL is the judge: its canonical texts, columns and rules, on 15 and 18 (G8)."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import AsyncConnection
from psycopg.errors import DatabaseError, IndeterminateCollation

from catalog.errors import FeatureNotSupported
from catalog.postgres.schema import TableName
from catalog.postgres.signatures_reader import read_signatures
from catalog.postgres.types import BOOL
from dialect.binding.bind import bind
from dialect.binding.calls import COMPARING
from tests.support.binding.cases import (
    FOLDER,
    SNAPSHOT,
    Snapshot,
    look,
    read_snapshot,
    record,
    recorded,
    snapshot_text,
    statements,
)
from tests.support.binding.laboratory import Laboratory, laboratory_on
from tests.support.binding.random_expressions import Expressions
from tests.support.binding.relations import read_canonical_text, read_table
from tests.support.binding.rule_oids import differing
from tests.support.recording import RECORDING, assert_as_recorded
from tests.support.running.servers import Server

pytestmark = pytest.mark.service

FILES = sorted(path for path in FOLDER.rglob("*.sql") if path.stem != "tables")
EXAMPLES = 200
ALLOWED_REFUSALS = 0.05


@pytest.fixture(scope="module", params=[15, 18])
def laboratory(request: pytest.FixtureRequest) -> Iterator[Laboratory]:
    server: Server = request.getfixturevalue(f"postgres{request.param}")
    with laboratory_on(server) as made:
        yield made


def test_snapshot(laboratory: Laboratory) -> None:
    """The recorded snapshot is PostgreSQL 15's."""
    if laboratory.major != 15:
        return

    async def work(_: AsyncConnection, snapshot: Snapshot) -> str:
        return snapshot_text(snapshot)

    assert_as_recorded(SNAPSHOT, laboratory.run(work))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_statements(path: Path, laboratory: Laboratory) -> None:
    """Canonical texts are recorded from 15; on 18 they are spelled otherwise and mean the same."""

    async def work(connection: AsyncConnection, snapshot: Snapshot) -> None:
        found = [await look(connection, snapshot, statement) for statement in statements(path)]
        if laboratory.major == 15 and RECORDING:
            record(path, found)
        for now, before in zip(found, recorded(path), strict=True):
            assert now.bound == before.bound
            assert now.columns == before.columns
            assert laboratory.major != 15 or now.canonical == before.canonical

    laboratory.run(work)


def queries(expressions: Expressions) -> st.SearchStrategy[str]:
    plain = st.builds(
        "SELECT {} AS a FROM bound.things t WHERE {}".format, expressions.any(3), expressions.of(BOOL, 2)
    )
    grouped = st.builds(
        "SELECT {0} AS k, {1} AS a FROM bound.things t GROUP BY {0} HAVING {2}".format,
        expressions.any(1),
        expressions.any(2, grouped=True),
        expressions.of(BOOL, 1, grouped=True),
    )
    united = st.sampled_from(("UNION", "UNION ALL", "EXCEPT")).flatmap(
        lambda kind: st.tuples(expressions.any(1), expressions.any(1)).map(
            lambda pair: (
                f"SELECT {pair[0]} AS a FROM bound.things t {kind} SELECT {pair[1]} FROM bound.things t"
            )
        )
    )
    return st.one_of(plain, plain, grouped, united)


async def judge(connection: AsyncConnection, snapshot: Snapshot, statement: str) -> str:
    """What came of one statement; an assertion fails where the binder and PostgreSQL differ."""
    try:
        await connection.execute(f"CREATE VIEW bound.r AS {statement}".encode())
    except DatabaseError:
        return "invalid"
    view = await read_table(connection, "bound.r")
    text = await read_canonical_text(connection, "bound.r")
    cursor = await connection.execute("SELECT ev_action FROM pg_rewrite WHERE ev_class = 'bound.r'::regclass")
    ((action,),) = await cursor.fetchall()
    await connection.execute("DROP VIEW bound.r")
    try:
        query = bind(text, snapshot.tables, snapshot.signatures, view.columns)
    except FeatureNotSupported as refusal:
        assert "not understood" not in refusal.message, f"{text}\n{refusal.detail}"
        return f"refused: {refusal.message} {refusal.detail or ''}"
    differences = differing(action, query)
    assert not differences, f"{text}\n{differences}"
    return "bound"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_operators_and_columns(path: Path, laboratory: Laboratory) -> None:
    """What is bound is what stands in the view's rule."""

    async def work(connection: AsyncConnection, snapshot: Snapshot) -> None:
        await connection.execute("SET search_path = bound, tpch")
        for statement in statements(path):
            outcome = await judge(connection, snapshot, statement)
            assert outcome.split(":")[0] == ("refused" if path.stem == "refused" else "bound"), statement

    laboratory.run(work)


FUNCTIONS_OF_TEXTS = """
    SELECT proname, 'pg_catalog.' || quote_ident(proname) || '(' || (
        SELECT string_agg(
            CASE WHEN type <> 'text'::regtype THEN '1' WHEN place = 1 THEN 't.posix' ELSE 't.label' END,
            ', ' ORDER BY place
        ) FROM unnest(proargtypes) WITH ORDINALITY AS argument (type, place)
    ) || ')'
    FROM pg_proc
    WHERE pronamespace = 'pg_catalog'::regnamespace AND prokind = 'f' AND NOT proretset
        AND proargtypes[0] = 'text'::regtype AND 'text'::regtype = ANY (proargtypes[1:])
        AND proargtypes::oid[] <@ ARRAY['text'::regtype, 'integer'::regtype]::oid[]
"""


def test_functions_that_compare(laboratory: Laboratory) -> None:
    """PostgreSQL says which functions need one collation; those of comparison operators have no name here."""

    async def work(connection: AsyncConnection, _: Snapshot) -> set[str]:
        await connection.execute("CREATE TEMP TABLE t AS SELECT 'a' COLLATE \"POSIX\" AS posix, 'b' AS label")
        await connection.execute('ALTER TABLE t ALTER label TYPE text COLLATE "C"')
        names = set()
        for name, call in await (await connection.execute(FUNCTIONS_OF_TEXTS)).fetchall():
            try:
                async with connection.transaction():
                    await connection.execute(f"SELECT {call} FROM t".encode())
            except IndeterminateCollation as error:
                if "string comparison" in str(error):
                    names.add(name)
            except DatabaseError:
                pass  # a function that wants other values
        return names

    operators = {"bttextcmp", *(f"text_{name}" for name in ("lt", "le", "gt", "ge", "larger", "smaller"))}
    assert laboratory.run(work) - operators - {"texteq", "textne"} == COMPARING - {"min", "max"}


USER_TYPES = """
    CREATE TYPE bound.mood AS ENUM ('sad', 'ok', 'happy');
    CREATE DOMAIN bound.score AS integer CHECK (value >= 0);
    CREATE TABLE bound.votes (feeling bound.mood, points bound.score, feelings bound.mood[]);
"""


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT feeling, feeling = 'ok' AS a, feeling > 'sad' AS b, feeling::text AS c FROM bound.votes",
        "SELECT 'ok'::bound.mood AS a, coalesce(feeling, 'sad') AS b FROM bound.votes",
        "SELECT min(feeling) AS a, array_agg(feeling) AS b FROM bound.votes WHERE feeling <> 'sad'",
        "SELECT points, points + 1 AS a, -points AS b, points::text AS c FROM bound.votes",
        "SELECT sum(points) OVER () AS a, coalesce(points, 1) AS b FROM bound.votes",
        "SELECT feeling = ANY (feelings) AS a, feelings[1] AS b FROM bound.votes",
        "SELECT points AS a FROM bound.votes UNION SELECT 1",
    ],
)
def test_user_defined_types(statement: str, laboratory: Laboratory) -> None:
    """Enums are types like others, domains are what they are over."""

    async def work(connection: AsyncConnection, _: Snapshot) -> None:
        async with connection.transaction(force_rollback=True):
            await connection.execute(USER_TYPES)
            votes = await read_table(connection, "bound.votes")
            known = Snapshot(await read_signatures(connection), {votes.name: votes})
            assert await judge(connection, known, statement) == "bound"

    laboratory.run(work)


def test_types_and_operators(laboratory: Laboratory) -> None:
    """Random queries are bound with exactly PostgreSQL's types and operators; few are refused."""
    outcomes: Counter[str] = Counter()
    known = read_snapshot()
    expressions = Expressions(known.signatures, known.tables[TableName("bound", "things")])

    async def work(connection: AsyncConnection, snapshot: Snapshot) -> None:
        loop = asyncio.get_running_loop()

        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(queries(expressions))
        def check(statement: str) -> None:
            outcomes[
                asyncio.run_coroutine_threadsafe(judge(connection, snapshot, statement), loop).result()
            ] += 1

        await asyncio.to_thread(check)

    laboratory.run(work)
    bound = outcomes.pop("bound")
    invalid = outcomes.pop("invalid", 0)
    refused = outcomes.total() / (bound + outcomes.total())
    server = f"PostgreSQL {laboratory.major}"
    sys.stdout.write(f"{server}: {bound} bound, {refused:.1%} of the valid refused, {invalid} not valid\n")
    assert bound > EXAMPLES / 4
    assert refused <= ALLOWED_REFUSALS, outcomes
