"""Merging keeps clear of computations under way, and files stay until these are published."""

from __future__ import annotations

from itertools import count

from coordinator.results.positions_in_use import PositionsInUse


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
