"""Which rows subplans have not read as contents yet."""

from __future__ import annotations

from coordinator.firing.fresh_rows import NOTHING_READ, fresh_after
from coordinator.firing.outcome import SubplanOutcome


def outcome(arrived: int, wrote: int, *, jobs: int = 1) -> SubplanOutcome:
    """What the subplan that writes buffer 2 did with rows of buffer 1."""
    return SubplanOutcome(
        writes=2,
        arrived={1: arrived},
        before={1: 1000, 2: 100},
        rows_in=arrived,
        rows_out=wrote,
        jobs=jobs,
        work=0.1,
        seconds=0.1,
    )


def test_what_came_with_a_run_is_fresh_in_the_next() -> None:
    first = fresh_after(NOTHING_READ, [outcome(10, 3)])
    assert first == {2: {1: 10, 2: 3}}
    assert fresh_after(first, [outcome(20, 5)]) == {2: {1: 20, 2: 5}}


def test_what_was_not_read_stays_fresh() -> None:
    """Where nothing was computed, nothing was read; where nothing ever was, everything is fresh."""
    first = fresh_after(NOTHING_READ, [outcome(10, 3)])
    assert fresh_after(first, [outcome(5, 0, jobs=0)]) == {2: {1: 15, 2: 3}}
    assert fresh_after(NOTHING_READ, [outcome(5, 0, jobs=0)]) == {}
    assert fresh_after(first, []) == first
