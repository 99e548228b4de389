"""PostgreSQL is the judge: the plans before and after unnesting give its rows, NULLs and duplicates too."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from psycopg import AsyncConnection

from catalog.postgres.schema import TableName
from executors.reference.evaluate import evaluate
from executors.reference.values.values import Bag
from tests.support.binding.cases import Snapshot, look, record, recorded, statements
from tests.support.binding.laboratory import Laboratory, laboratory_on
from tests.support.planning.cases import FOLDER, bound, plans
from tests.support.recording import RECORDING
from tests.support.running.servers import Server

pytestmark = pytest.mark.service

FILES = sorted(FOLDER.glob("*.sql"))
SEEDS = range(6)
THINGS, OTHERS = TableName("bound", "things"), TableName("bound", "others")


@pytest.fixture(scope="module", params=[15, 18])
def laboratory(request: pytest.FixtureRequest) -> Iterator[Laboratory]:
    server: Server = request.getfixturevalue(f"postgres{request.param}")
    with laboratory_on(server) as made:
        yield made


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_statements(path: Path, laboratory: Laboratory) -> None:
    """Canonical texts are recorded from 15; what 18 makes of a statement means the same."""

    async def work(connection: AsyncConnection, snapshot: Snapshot) -> None:
        found = [await look(connection, snapshot, statement) for statement in statements(path)]
        if laboratory.major == 15 and RECORDING:
            record(path, found)
        for now, before in zip(found, recorded(path), strict=True):
            assert now.bound == before.bound

    laboratory.run(work)


@pytest.mark.parametrize("name", ["queries", "subqueries"])
def test_rows(name: str, laboratory: Laboratory) -> None:
    """For random contents, many NULLs and equal values among them, and for empty tables."""
    cases = recorded(FOLDER / f"{name}.sql")

    async def work(connection: AsyncConnection, snapshot: Snapshot) -> None:
        for seed in SEEDS:
            await _fill(connection, random.Random(seed), most=2 * seed)
            contents = {
                table: await _rows(connection, f"SELECT * FROM {_dotted(table)}")
                for table in (THINGS, OTHERS)
            }
            for case in cases:
                made = plans(bound(case, snapshot), snapshot)
                theirs = await _rows(connection, case.canonical.rstrip(";"))
                assert evaluate(made.translated, contents) == theirs, case.canonical
                assert evaluate(made.unnested, contents) == theirs, case.canonical

    laboratory.run(work)


async def _rows(connection: AsyncConnection, query: str) -> Bag:
    async with connection.cursor() as cursor:
        await cursor.execute(query.encode())
        return Counter(await cursor.fetchall())


async def _fill(connection: AsyncConnection, source: random.Random, most: int) -> None:
    def number() -> int | None:
        return source.choice((None, 0, 1, 2, 3))

    def price() -> Decimal | None:
        return source.choice((None, Decimal("1.50"), Decimal("2.00"), Decimal("3.25")))

    def label() -> str | None:
        return source.choice((None, "a", "b", "c"))

    await connection.execute("TRUNCATE bound.things, bound.others")
    for identity in range(source.randint(0, most)):
        row = (identity, number(), number(), price(), source.choice((None, True, False)), label())
        await connection.execute(
            "INSERT INTO bound.things (id, small, whole, price, flag, label) VALUES (%s, %s, %s, %s, %s, %s)",
            row,
        )
    for _ in range(source.randint(0, most)):
        await connection.execute(
            "INSERT INTO bound.others (id, thing_id, label, amount) VALUES (%s, %s, %s, %s)",
            (number() or 0, number(), label(), price()),
        )


def _dotted(table: TableName) -> str:
    return f"{table.schema}.{table.name}"
