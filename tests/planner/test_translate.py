"""Plans of recorded views are as recorded (REWRITE=1 records them); what has no plan is refused by name."""

from __future__ import annotations

import functools
import re
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from catalog.postgres.schema import Column
from catalog.postgres.types import INT4, SqlType
from tests.support.binding.cases import Snapshot, read_snapshot, recorded, statements
from tests.support.planning.cases import FOLDER, QUERIES, plan_text, record_plans, recorded_plans
from tests.support.recording import RECORDING

_RENAMED: Final = re.compile(r"(FROM|JOIN) \(*\w+\.\w+ \w+\(")
FILES = {path: FOLDER / f"{path.stem}.plan" for path in sorted(FOLDER.glob("*.bound"))}
FILES |= {path: FOLDER / "tpch" / f"{path.stem}.plan" for path in sorted(QUERIES.glob("*.bound"))}


@functools.cache
def snapshot() -> Snapshot:
    return read_snapshot()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_plans_are_as_recorded(path: Path) -> None:
    texts = [plan_text(case, snapshot()) for case in recorded(path)]
    if RECORDING:
        record_plans(FILES[path], texts)
    assert texts == recorded_plans(FILES[path])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_plan_does_not_depend_on_columns_that_the_query_does_not_name(path: Path) -> None:
    """So nothing is computed anew when one comes; an alias that renames columns names all of them."""
    added = Column("comes_later", SqlType(INT4), True, 1000)
    tables = {
        name: replace(table, columns=(*table.columns, added)) for name, table in snapshot().tables.items()
    }
    for case, before in zip(recorded(path), recorded_plans(FILES[path]), strict=True):
        after = plan_text(case, replace(snapshot(), tables=tables))
        assert after == before or "comes_later" in after, case.canonical
        assert after == before or _RENAMED.search(case.canonical), case.canonical


def test_every_statement_is_recorded() -> None:
    assert len(FILES) == 3 + 22
    for path in FILES:
        assert len(recorded(path)) == len(statements(path.with_suffix(".sql"))), path


def test_only_what_should_be_refused_is() -> None:
    for path, plan in FILES.items():
        for text in recorded_plans(plan):
            assert text.startswith("0A000: ") == (path.stem == "refused"), text
