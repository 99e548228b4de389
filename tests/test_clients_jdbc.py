"""The JDBC driver through Gavial, in its many modes, sees what it sees on PostgreSQL itself."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlencode

import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.clients.ours import OUR_VERSION, OURS, as_ours
from tests.clients.programs import SOURCES, jdbc_driver, run, system_program

pytestmark = pytest.mark.service


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled programs of `clients/java`."""
    target = tmp_path_factory.mktemp("classes")
    sources = sorted((SOURCES / "java").glob("*.java"))
    run(system_program("javac"), "-Xlint:all", "-Werror", "-cp", jdbc_driver(), "-d", target, *sources)
    return target


def jdbc_url(dsn: str) -> str:
    fields = conninfo_to_dict(dsn)
    query = urlencode({"user": fields["user"], "password": fields["password"], "sslmode": "disable"})
    return f"jdbc:postgresql://{fields['host']}:{fields['port']}/{fields['dbname']}?{query}"


def printed(classes: Path, program: str, dsn: str, *arguments: str) -> str:
    url = jdbc_url(dsn)
    quick = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m", f"-Dwatcher={url}")
    path = f"{classes}:{jdbc_driver()}"
    return run(system_program("java"), *quick, "-cp", path, program, url, *arguments).stdout


def test_session_prints_the_same(classes: Path, both: tuple[str, str]) -> None:
    direct, through = (printed(classes, "Session", dsn) for dsn in both)
    assert through == direct
    assert direct.splitlines()[-1] == "large object: true 1000000"


def test_our_statement_is_shown_as_a_setting(classes: Path, both: tuple[str, str]) -> None:
    direct, through = both
    expected = as_ours(printed(classes, "Show", direct, "server_version"), direct)
    assert printed(classes, "Show", through, OURS) == expected
    assert expected.count(f"prepared 1 {OURS} = {OUR_VERSION}") == 9 * 3 * 7
