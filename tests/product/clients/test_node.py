"""node-postgres through Gavial sees what it sees on PostgreSQL itself."""

from __future__ import annotations

import pytest

from tests.product.clients.ours import OUR_VERSION, OURS, as_ours
from tests.product.clients.programs import printed_by_node

pytestmark = pytest.mark.service


def test_session_prints_the_same(both: tuple[str, str]) -> None:
    direct, through = (printed_by_node("session.js", dsn) for dsn in both)
    assert through == direct
    assert direct.splitlines()[-1].startswith("pool [[0,0],[1,1],")


def test_our_statement_is_shown_as_a_setting(both: tuple[str, str]) -> None:
    direct, through = both
    expected = as_ours(printed_by_node("show.js", direct, "server_version"), direct)
    assert printed_by_node("show.js", through, OURS) == expected
    assert expected.count(OUR_VERSION) == 7
