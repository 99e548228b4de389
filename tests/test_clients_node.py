"""node-postgres through Gavial sees what it sees on PostgreSQL itself."""

from __future__ import annotations

import pytest

from tests.clients.ours import OUR_VERSION, OURS, as_ours
from tests.clients.programs import SOURCES, node_modules, run, system_program

pytestmark = pytest.mark.service


def printed(program: str, dsn: str, *arguments: str) -> str:
    """What a program of `clients/node` prints; Node looks for packages from the folder it runs in."""
    source = (SOURCES / "node" / program).read_text()
    command = (system_program("node"), "--input-type=module", "-", dsn, *arguments)
    return run(*command, script=source, directory=node_modules().parent).stdout


def test_session_prints_the_same(both: tuple[str, str]) -> None:
    direct, through = (printed("session.js", dsn) for dsn in both)
    assert through == direct
    assert direct.splitlines()[-1].startswith("pool [[0,0],[1,1],")


def test_our_statement_is_shown_as_a_setting(both: tuple[str, str]) -> None:
    direct, through = both
    expected = as_ours(printed("show.js", direct, "server_version"), direct)
    assert printed("show.js", through, OURS) == expected
    assert expected.count(OUR_VERSION) == 7
