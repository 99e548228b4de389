"""TPC-H's 22 queries, all standing, while all tables change (G1, G6); more of it: scripts/check-tpch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.answers.tpch_answers import answers, check_liveliness
from tests.support.running.servers import Server, gavial
from tests.support.running.standing_databases import fresh_database, session

pytestmark = pytest.mark.service

BATCHES = 1
SCALE = 0.01


def test_all_answers_under_late_rows_updates_and_deletes(postgres15: Server, tmp_path: Path) -> None:
    with gavial(upstream=postgres15) as proxy, fresh_database(proxy) as dsn, session(dsn) as user:
        check_liveliness(list(answers(user, tmp_path, SCALE, BATCHES, seed=23)))
