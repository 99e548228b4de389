"""The JDBC driver through Gavial, in its many modes, sees what it sees on PostgreSQL itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.product.clients.ours import OUR_VERSION, OURS, as_ours
from tests.product.clients.programs import compiled, printed_by_java

pytestmark = pytest.mark.service


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("classes"))


def test_session_prints_the_same(classes: Path, both: tuple[str, str]) -> None:
    direct, through = (printed_by_java(classes, "Session", dsn) for dsn in both)
    assert through == direct
    assert direct.splitlines()[-1] == "large object: true 1000000"


def test_our_statement_is_shown_as_a_setting(classes: Path, both: tuple[str, str]) -> None:
    direct, through = both
    expected = as_ours(printed_by_java(classes, "Show", direct, "server_version"), direct)
    assert printed_by_java(classes, "Show", through, OURS) == expected
    assert expected.count(f"prepared 1 {OURS} = {OUR_VERSION}") == 9 * 3 * 7
