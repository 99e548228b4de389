"""Drivers see of CREATE and DROP STANDING QUERY what they see of CREATE and DROP MATERIALIZED VIEW (G12)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.product.clients.programs import compiled, printed_by_java, printed_by_node
from tests.support.running.standing_databases import fresh_database, session

pytestmark = pytest.mark.service


@pytest.fixture(params=[15, 18])
def ends(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """One database, on PostgreSQL itself and through Gavial."""
    server = request.getfixturevalue(f"postgres{request.param}")
    with fresh_database(request.getfixturevalue(f"gavial{request.param}")) as dsn:
        with session(dsn) as connection:
            for program in ("java", "node"):
                connection.execute(
                    f"CREATE TABLE read_by_{program} (id int PRIMARY KEY, name varchar(20))".encode()
                )
        yield server.dsn(dbname=conninfo_to_dict(dsn)["dbname"]), dsn


def as_ours(printed: str) -> str:
    """What was said of a materialized view, of a standing query: a missing one is no missing table."""
    return printed.replace("materialized view", "standing query").replace("42P01 standing", "42704 standing")


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("classes"))


def test_jdbc(classes: Path, ends: tuple[str, str]) -> None:
    direct, through = ends
    expected = as_ours(printed_by_java(classes, "Made", direct, "MATERIALIZED VIEW"))
    assert printed_by_java(classes, "Made", through, "STANDING QUERY") == expected
    assert expected.count("repeated 0 0") == 5 * 6


def test_node(ends: tuple[str, str]) -> None:
    direct, through = ends
    expected = as_ours(printed_by_node("made.js", direct, "MATERIALIZED VIEW"))
    assert printed_by_node("made.js", through, "STANDING QUERY") == expected
    assert len(expected.splitlines()) == 12
