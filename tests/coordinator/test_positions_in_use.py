"""Merging keeps clear of computations under way, and files stay until these are published."""

from __future__ import annotations

from itertools import count
from pathlib import Path

from coordinator.results.discarded_files import DiscardedFiles
from coordinator.results.positions_in_use import PositionsInUse
from sources.warehouse.warehouse import Warehouse


def test_files_stay_as_long_as_a_publication_that_began_before() -> None:
    captured = count(100, 10)
    positions = PositionsInUse(lambda: next(captured))
    begun = positions.begin_decision(())
    merged = positions.now()
    assert merged.in_use == {begun}
    positions.begin_decision([begun])
    assert positions.now().in_use > {begun}
    assert positions.now().oldest <= merged.decision
    positions.begin_decision([begun])
    assert positions.now().oldest <= merged.decision
    positions.begin_decision(())
    assert begun not in positions.now().in_use
    assert positions.now().oldest > merged.decision


def test_a_position_that_stays_the_same_is_as_old_as_what_began_first() -> None:
    positions = PositionsInUse(lambda: 7)
    positions.begin_decision(())
    merged = positions.now()
    positions.begin_decision([7])
    assert positions.now().oldest == merged.decision
    positions.begin_decision(())
    assert positions.now().oldest > merged.decision


def test_before_the_first_decision_nothing_is_in_use() -> None:
    assert PositionsInUse(lambda: 0).now().in_use == frozenset()


def test_what_is_held_stays_in_use_across_decisions() -> None:
    captured = count(100, 10)
    positions = PositionsInUse(lambda: next(captured))
    begun = positions.begin_decision(())
    held = positions.hold(begun - 5)
    merged = positions.now()
    for _ in range(3):
        positions.begin_decision(())
        assert begun - 5 in positions.now().in_use
        assert positions.now().oldest <= merged.decision
    assert positions.oldest_held() == merged.decision
    positions.release(held)
    assert positions.now().oldest > merged.decision
    assert positions.oldest_held() is None


def test_discarded_files_wait_for_what_is_held(tmp_path: Path) -> None:
    warehouse = Warehouse(str(tmp_path))
    positions = PositionsInUse(lambda: 7)
    files = DiscardedFiles(warehouse, positions)
    names = ["node-1/before.parquet", "node-1/after.parquet"]
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()

    def are_there() -> list[bool]:
        return [(tmp_path / name).exists() for name in names]

    positions.begin_decision(())
    files.add(names[:1])
    positions.begin_decision(())
    held = positions.hold(7)
    files.add(names[1:])
    files.remove()
    assert are_there() == [False, True]
    positions.release(held)
    files.remove()
    assert are_there() == [False, False]
