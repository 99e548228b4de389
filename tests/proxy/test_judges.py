"""Judging in a process of its own: it blocks nobody, ends with the one who asked, and is replaced."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from catalog.errors import CannotConnectNow, Error, StatementTooComplex
from catalog.postgres.schema import Table
from catalog.postgres.types import INT4
from executors.engines import engine_of
from executors.settings import EngineSettings
from proxy.judging.exchange import Judged, read_head
from proxy.judging.judges import Judges
from proxy.judging.process import judged
from proxy.wire.verdict import Verdict
from tests.support.binding.cases import read_snapshot
from tests.support.planning.large_queries import TABLES, WIDE, every_pair

SIGNATURES = read_snapshot().signatures
KEY = ("app", "150000 5")
DEADLINE_SECONDS = 120
FOREVER_SECONDS = 3600
SMALL = "SELECT t0.id FROM public.t0"
ENORMOUS = every_pair(100)


def described(table: Table) -> dict[str, Any]:
    """A table as the database describes it."""
    columns = [
        [
            column.name,
            column.type.oid,
            column.type.typmod,
            column.type.collation,
            column.nullable,
            column.attribute,
        ]
        for column in table.columns
    ]
    name = {"schema": table.name.schema, "name": table.name.name}
    return {**name, "oid": 0, "columns": columns, "keys": table.keys, "foreign_keys": []}


def words(text: str) -> str:
    """A question about a view of this text, as the database asks it."""
    column = ["id", INT4, -1, 0, True, 1]
    name = {"schema": "gavial_views", "name": "public.q"}
    view = {**name, "oid": 1, "text": text, "columns": [column], "keys": [], "foreign_keys": []}
    asked = {
        "ticket": 2,
        "server": KEY[1],
        "view": 1,
        "views": [view],
        "tables": [described(table) for table in TABLES.values() if table is not WIDE],
        "types": [],
        "collations": {},
        "binary": True,
        "places": {},
        "options": {},
        "explain": None,
        "statistics": [],
        "plan": None,
        "figures": None,
    }
    return base64.b64encode(json.dumps(asked).encode()).decode()


@asynccontextmanager
async def judges(cpu_seconds: int = FOREVER_SECONDS) -> AsyncIterator[Judges]:
    """Stopped in the end."""
    judging = Judges(EngineSettings(Path()), cpu_seconds=cpu_seconds)
    try:
        yield judging
    finally:
        await asyncio.to_thread(judging.stop)


async def ask(judging: Judges, text: str) -> Judged:
    return await asyncio.wait_for(judging.ask(KEY, SIGNATURES, words(text)), DEADLINE_SECONDS)


def children(process: int) -> list[int]:
    """The processes that it has started and not yet buried."""
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


async def until(holds: Any) -> None:
    """Wait for the condition; the deadline is long, and ends the test."""
    async with asyncio.timeout(DEADLINE_SECONDS):
        while not holds():
            await asyncio.sleep(0.01)


def test_what_is_said_of_a_query() -> None:
    async def scene() -> None:
        async with judges() as judging:
            judging.warm()
            assert await ask(judging, SMALL) == Verdict()
            refused = await ask(judging, "SELECT t0.id FROM public.t0 FOR UPDATE")
            assert isinstance(refused, Error)
            assert (refused.sqlstate, refused.hint is None) == ("0A000", False)
            assert await judging.ask(KEY, SIGNATURES, "no question") is None

    asyncio.run(scene())


def test_the_enormous_one_blocks_nobody_and_is_given_up_at_once() -> None:
    async def scene() -> None:
        async with judges() as judging:
            enormous = asyncio.create_task(judging.ask(KEY, SIGNATURES, words(ENORMOUS)))
            for _ in range(20):
                assert await ask(judging, SMALL) == Verdict()
            assert not enormous.done()
            await until(lambda: len(children(judging.process or 0)) == 1)
            [process] = children(judging.process or 0)
            enormous.cancel()
            await until(lambda: not children(judging.process or 0))
            assert not Path(f"/proc/{process}").exists()
            assert await ask(judging, SMALL) == Verdict()

    asyncio.run(scene())


def test_what_takes_too_long_is_refused_with_a_way_out() -> None:
    async def scene() -> None:
        async with judges(cpu_seconds=1) as judging:
            refused = await ask(judging, ENORMOUS)
            assert isinstance(refused, StatementTooComplex)
            assert refused.message == "the query takes too long to be planned"
            assert refused.hint is not None

    asyncio.run(scene())


def test_a_process_that_was_killed_is_replaced() -> None:
    async def scene() -> None:
        async with judges() as judging:
            assert await ask(judging, SMALL) == Verdict()
            await until(lambda: not children(judging.process or 0))
            enormous = asyncio.create_task(judging.ask(KEY, SIGNATURES, words(ENORMOUS)))
            await until(lambda: children(judging.process or 0))
            [judgement] = children(judging.process or 0)
            os.kill(judging.process or 0, signal.SIGKILL)
            os.kill(judgement, signal.SIGKILL)
            async with asyncio.timeout(DEADLINE_SECONDS):
                assert isinstance(await enormous, CannotConnectNow)
            assert await ask(judging, SMALL) == Verdict()

    asyncio.run(scene())


def test_a_judgement_that_was_killed_says_so() -> None:
    async def scene() -> None:
        async with judges() as judging:
            enormous = asyncio.create_task(judging.ask(KEY, SIGNATURES, words(ENORMOUS)))
            await until(lambda: judging.process and children(judging.process))
            [judgement] = children(judging.process or 0)
            os.kill(judgement, signal.SIGSEGV)
            async with asyncio.timeout(DEADLINE_SECONDS):
                outcome = await enormous
            assert isinstance(outcome, Error)
            assert (outcome.sqlstate, outcome.detail) == ("XX000", "Its process ended with signal 11.")

    asyncio.run(scene())


def test_it_ends_with_the_one_who_asks() -> None:
    async def scene() -> None:
        async with judges() as judging:
            enormous = asyncio.create_task(judging.ask(KEY, SIGNATURES, words(ENORMOUS)))
            await until(lambda: judging.process and children(judging.process))
            [judgement] = children(judging.process or 0)
            await asyncio.to_thread(judging.stop)
            await until(lambda: not Path(f"/proc/{judgement}/cwd").exists())
            async with asyncio.timeout(DEADLINE_SECONDS):
                assert isinstance(await enormous, CannotConnectNow)

    asyncio.run(scene())


def test_memory_is_bounded() -> None:
    with patch("proxy.judging.process.judge", side_effect=MemoryError):
        refused = judged(SIGNATURES, words(SMALL), engine_of(EngineSettings(Path())))
    assert isinstance(refused, StatementTooComplex)
    assert refused.message == "the query takes too much memory to be planned"


def test_the_head_of_a_question() -> None:
    head = read_head(words(SMALL))
    assert head is not None
    assert (head.ticket, head.server, head.kept) == (2, KEY[1], False)
