"""Plans of recorded views are as recorded (REWRITE=1 records them); what has no plan is refused by name."""

from __future__ import annotations

import functools
import os
from pathlib import Path

import pytest

from tests.bindcases import Snapshot, read_snapshot, recorded, statements
from tests.plancases import FOLDER, QUERIES, plan_text, record_plans, recorded_plans

FILES = {path: FOLDER / f"{path.stem}.plan" for path in sorted(FOLDER.glob("*.bound"))}
FILES |= {path: FOLDER / "tpch" / f"{path.stem}.plan" for path in sorted(QUERIES.glob("*.bound"))}


@functools.cache
def snapshot() -> Snapshot:
    return read_snapshot()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_plans_are_as_recorded(path: Path) -> None:
    texts = [plan_text(case, snapshot()) for case in recorded(path)]
    if "REWRITE" in os.environ:
        record_plans(FILES[path], texts)
    assert texts == recorded_plans(FILES[path])


def test_every_statement_is_recorded() -> None:
    assert len(FILES) == 3 + 22
    for path in FILES:
        assert len(recorded(path)) == len(statements(path.with_suffix(".sql"))), path


def test_only_what_should_be_refused_is() -> None:
    for path, plan in FILES.items():
        for text in recorded_plans(plan):
            assert text.startswith("0A000: ") == (path.stem == "refused"), text
