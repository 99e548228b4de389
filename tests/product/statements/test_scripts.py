"""Every statement of ours, every wrong one and every refusal, as recorded in `sql/` (G8, G12)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq.abc import PGconn

from tests.support import statement_script
from tests.support.recording import RECORDING
from tests.support.running.servers import Gavial, Server
from tests.support.running.standing_databases import fresh_database
from tests.support.statement_script import Block, Send

pytestmark = pytest.mark.service

FOLDER = Path(__file__).parent / "sql"


@contextmanager
def both_ends(server: Server, proxy: Gavial) -> Iterator[tuple[PGconn, PGconn]]:
    """Sessions of one new database: on PostgreSQL itself, and through Gavial."""
    with fresh_database(proxy) as dsn:
        direct = server.dsn(dbname=conninfo_to_dict(dsn)["dbname"])
        with psycopg.connect(direct, autocommit=True) as one, psycopg.connect(dsn, autocommit=True) as two:
            yield one.pgconn, two.pgconn


def answers(
    blocks: tuple[Block, ...], direct: PGconn, through: PGconn, send: Send
) -> Iterator[tuple[str, str]]:
    """For each block the answer to be recorded, and the answer of Gavial."""
    for block in blocks:
        way = statement_script.simple if block.directive == "several" else send
        if block.directive == "view":
            wanted = statement_script.ask_as_view(direct, block.statement)
            yield wanted, statement_script.ask(through, block.statement, way)
        else:
            found = statement_script.ask(through, block.statement, way)
            yield found, found


def scripts() -> Iterator[object]:
    """Each script on each version; one whose name ends in a version only there."""
    for path in sorted(FOLDER.glob("*.slt")):
        only = path.stem.rpartition("_")[2]
        for major in (15, 18):
            if not only.isdigit() or int(only) == major:
                yield pytest.param(path, major, id=f"{path.stem}-{major}")


@pytest.mark.parametrize(("path", "major"), list(scripts()))
@pytest.mark.parametrize(
    "send", [statement_script.simple, statement_script.extended], ids=lambda send: send.__name__
)
def test_script(request: pytest.FixtureRequest, path: Path, send: Send, major: int) -> None:
    blocks = statement_script.read(path)
    server = request.getfixturevalue(f"postgres{major}")
    proxy = request.getfixturevalue(f"gavial{major}")
    with both_ends(server, proxy) as (direct, through):
        answered = tuple(answers(blocks, direct, through, send))
    if RECORDING and (major, send) == (15, statement_script.simple):
        blocks = tuple(statement_script.recorded(b, a[0]) for b, a in zip(blocks, answered, strict=True))
        statement_script.write(path, blocks)
    for block, (wanted, found) in zip(blocks, answered, strict=True):
        assert wanted == block.answer, f"{block.statement}\nis not answered as recorded"
        assert found == block.answer, f"{block.statement}\nis answered otherwise by Gavial"
