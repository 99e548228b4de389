"""What is merged, in any order of changes, readers that come, go on and go, TRUNCATEs and other columns.

Promised: nothing that a reader sees is another for it, the number of batches is bounded whatever happens, and
so are the rows that are written again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from unittest.mock import patch

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from catalog.capture import sizes
from catalog.capture.batch import Batch, Bounds
from coordinator.decide import merging
from coordinator.decide.merging import (
    FAN_IN,
    Append,
    Drop,
    LogState,
    MergeStep,
    Rewrite,
    Sum,
    has_many_dead,
    next_merge,
    of_like_size,
    size_of,
)

SMALL_ROWS = 600
SIZES = size_of(SMALL_ROWS) + 1
Row = tuple[int, int, int]
"""A changed row: its position, what is in it, and its weight."""


class ModelLog:
    """The batches of a buffer with their rows, and all that was ever captured."""

    def __init__(self) -> None:
        self.rows: dict[str, list[Row]] = {}
        self.batches: list[Batch] = []
        self.history: list[Row] = []
        self.made = 0
        self.written_again = 0

    def add(self, rows: list[Row], start: int, end: int, version: int) -> None:
        if not rows:
            return
        self.made += 1
        weights = [weight for _position, _row, weight in rows]
        batch = Batch(
            "table-1",
            str(self.made),
            len(rows),
            len(rows),
            "",
            start,
            end,
            version,
            {"weight": Bounds(min(weights), max(weights), False)},
        )
        self.rows[batch.file] = rows
        self.batches.append(batch)

    def carry_out(self, step: MergeStep) -> None:
        rows = [row for batch in step.batches for row in self.rows.pop(batch.file)]
        self.batches = [batch for batch in self.batches if batch not in step.batches]
        start = min(batch.from_offset for batch in step.batches)
        end = max(batch.to_offset for batch in step.batches)
        assert len({batch.schema_version for batch in step.batches}) == 1 or isinstance(step, Drop)
        version = step.batches[0].schema_version
        if not isinstance(step, Drop):
            self.written_again += len(rows)
        match step:
            case Drop():
                assert not +content(rows)
                assert not -content(rows)
            case Append():
                assert len(step.batches) > 1
                self.add(rows, start, end, version)
            case Sum():
                assert len(step.batches) > 1
                self.add(summed(rows), start, end, version)
            case Rewrite():
                parts = summed(rows)
                for begin in range(0, len(parts), SMALL_ROWS):
                    self.add(parts[begin : begin + SMALL_ROWS], start, end, version)

    def between(self, start: int, end: int) -> Counter[int]:
        """The changes behind one position up to another, by the batches."""
        return content(
            row
            for batch in self.batches
            if start < batch.to_offset and batch.from_offset < end
            for row in self.rows[batch.file]
            if start < row[0] <= end
        )


def content(rows: Iterable[Row]) -> Counter[int]:
    sums: Counter[int] = Counter()
    for _position, row, weight in rows:
        sums[row] += weight
    return Counter({row: count for row, count in sums.items() if count})


def summed(rows: list[Row]) -> list[Row]:
    last = {row: position for position, row, _weight in sorted(rows)}
    return [(last[row], row, count) for row, count in content(rows).items()]


class Merges(RuleBasedStateMachine):
    """A buffer that is written and read all the time."""

    readers = Bundle("readers")

    def __init__(self) -> None:
        super().__init__()
        self.patches = [
            patch.object(sizes, "SMALL_ROWS", SMALL_ROWS),
            patch.object(merging, "MOST_ROWS", FAN_IN * SMALL_ROWS),
        ]
        for patched in self.patches:
            patched.start()
        self.log = ModelLog()
        self.position, self.version, self.emptied = 0, 1, 0
        self.stops: dict[int, int] = {}
        self.computing: dict[int, int] = {}
        self.named = 0
        self.log.add([(1, row, 1) for row in range(50)], 0, 1, 1)
        self.log.history += self.log.rows["1"]
        self.position = 1

    def teardown(self) -> None:
        for patched in self.patches:
            patched.stop()

    def state(self) -> LogState:
        stops = {*self.stops.values(), *self.computing.values()}
        return LogState(list(self.log.batches), stops, self.position, self.emptied)

    @rule(batches=st.integers(1, 40), rows=st.integers(1, 60), first=st.integers(0, 40), update=st.booleans())
    def write(self, batches: int, rows: int, first: int, update: bool) -> None:
        """Transactions that update rows which are there, or put in others."""
        for number in range(batches):
            there = sorted(content(self.log.history).keys()) if update else []
            self.position += 2
            changed: list[Row] = []
            for place in range(rows):
                if place + first < len(there):
                    changed.append((self.position, there[place + first], -1))
                changed.append((self.position, 1000 * self.position + number + place, 1))
            self.log.history += changed
            self.log.add(changed, self.position - 1, self.position, self.version)

    @rule()
    def truncate(self) -> None:
        self.position += 5
        lsn = self.position
        held = [batch for batch in self.log.batches if batch.to_offset >= self.emptied]
        for batch in held:
            back = [(lsn - 1, row, -weight) for _position, row, weight in self.log.rows[batch.file]]
            self.log.history += back
            self.log.add(back, lsn - 2, lsn - 1, batch.schema_version)
        self.emptied = lsn
        rows = [(lsn, 7, 1)]
        self.log.history += rows
        self.log.add(rows, lsn - 1, lsn, self.version)

    @rule()
    def alter(self) -> None:
        self.version += 1

    @rule(target=readers)
    def join(self) -> int:
        self.named += 1
        return self.named

    @rule(reader=readers)
    def begin(self, reader: int) -> None:
        self.computing[reader] = self.position

    @rule(reader=readers)
    def publish(self, reader: int) -> None:
        if (position := self.computing.pop(reader, None)) is not None:
            self.stops[reader] = position

    @rule(reader=readers)
    def give_up(self, reader: int) -> None:
        self.computing.pop(reader, None)

    @rule(reader=consumes(readers))
    def leave(self, reader: int) -> None:
        self.stops.pop(reader, None)
        self.computing.pop(reader, None)

    @rule(steps=st.integers(1, 3))
    def merge_a_little(self, steps: int) -> None:
        """A merge that is killed leaves all as it was, or as it was to be."""
        for _ in range(steps):
            if (step := next_merge(self.state())) is not None:
                self.log.carry_out(step)

    @rule()
    def merge(self) -> None:
        for _ in range(200):
            if (step := next_merge(self.state())) is None:
                self._check_bounds()
                return
            self.log.carry_out(step)
        raise AssertionError("it never ends")

    def _check_bounds(self) -> None:
        groups: Counter[tuple[int, int]] = Counter()
        stops = sorted(self.state().stops)
        for batch in self.log.batches:
            behind = sum(stop <= batch.from_offset for stop in stops)
            if batch.rows <= SMALL_ROWS:
                groups[batch.schema_version, behind] += 1
        emptied = 2 if self.emptied else 1
        assert all(count <= emptied * (FAN_IN - 1) * SIZES for count in groups.values()), groups
        below = min(stops, default=self.position)
        if len({batch.schema_version for batch in self.log.batches}) == 1 and self.emptied <= below:
            settled = sum(batch.rows for batch in self.log.batches if batch.to_offset <= below)
            there = len(self.log.between(0, below))
            assert settled <= 3 * there + SIZES * FAN_IN * SMALL_ROWS

    @invariant()
    def readers_see_what_was_captured(self) -> None:
        stops = sorted({*self.stops.values(), *self.computing.values()})
        for start, end in zip((0, *stops), (*stops, self.position), strict=True):
            wanted = content(row for row in self.log.history if start < row[0] <= end)
            assert self.log.between(start, end) == wanted
        if stops:
            # What arrived since a result is counted by the manifest.
            for stop in stops:
                arrived = sum(batch.rows for batch in self.log.batches if batch.from_offset >= stop)
                assert arrived == sum(stop < row[0] for row in self.log.history)

    @invariant()
    def little_is_written_again(self) -> None:
        assert self.log.written_again <= (SIZES + 4) * len(self.log.history)


Merges.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestMerges = Merges.TestCase


def batch(number: int, rows: int, version: int = 1) -> Batch:
    return Batch("table-1", f"{number}", rows, 1, "", number, number + 1, version, {})


def test_only_many_small_batches_of_the_same_columns_are_merged() -> None:
    small = [batch(number, 10) for number in range(FAN_IN)]
    at_end = {FAN_IN}
    assert next_merge(LogState(small, at_end)) == Sum(tuple(small))
    assert next_merge(LogState(small[1:], at_end)) is None
    other = [*small[1:], batch(FAN_IN - 1, 10, version=2)]
    assert next_merge(LogState(other, at_end)) is None
    large = batch(99, sizes.SMALL_ROWS + 1)
    assert of_like_size([*small, large]) == tuple(small)
    many = [batch(number, sizes.SMALL_ROWS) for number in range(20)]
    assert sum(chosen.rows for chosen in of_like_size(many)) <= merging.MOST_ROWS
    wide = [replace(known, rows=1, bytes=sizes.SMALL_BYTES) for known in many]
    assert sum(chosen.bytes for chosen in of_like_size(wide)) <= merging.MOST_BYTES


def test_only_what_can_cancel_out_is_summed_up() -> None:
    inserted = {"weight": Bounds(1, 2, False)}
    added = [replace(batch(number, 10), bounds=inserted) for number in range(FAN_IN)]
    assert next_merge(LogState(added, {FAN_IN})) == Append(tuple(added))
    taken_back = replace(added[3], bounds={"weight": Bounds(-1, 1, False)})
    some = (*added[:3], taken_back, *added[4:])
    assert next_merge(LogState(some, {FAN_IN})) == Sum(some)


def test_nothing_is_merged_over_a_stop_and_nothing_is_summed_up_behind_one() -> None:
    small = [batch(number, 10) for number in range(2 * FAN_IN)]
    assert next_merge(LogState(small, {FAN_IN, 2 * FAN_IN})) == Sum(tuple(small[:FAN_IN]))
    assert next_merge(LogState(small[FAN_IN:], {3, 2 * FAN_IN})) == Append(tuple(small[FAN_IN:]))
    assert next_merge(LogState(small, {FAN_IN - 1, FAN_IN + 1})) is None
    assert next_merge(LogState(small, (), limit=FAN_IN - 1)) is None


def test_what_is_merged_is_not_merged_again_at_once() -> None:
    """Small batches whose sum makes a larger size complete are merged with those of that size."""
    small = [batch(number, 10) for number in range(FAN_IN)]
    larger = [batch(100 + number, 100) for number in range(FAN_IN - 1)]
    assert len(of_like_size([*small, *larger])) == 2 * FAN_IN - 1
    assert of_like_size([*small, *larger[1:]]) == tuple(small)


def test_constant_load_keeps_few_batches_and_writes_each_row_a_few_times() -> None:
    """Five hours of twenty rows a second, a batch every second, and a reader that never comes."""
    log = ModelLog()
    seconds, most = 20_000, 0
    for second in range(seconds):
        log.add([(second + 1, second, 1)] * 20, second, second + 1, 1)
        while (step := next_merge(LogState(log.batches, {0}, second + 1))) is not None:
            log.carry_out(step)
        most = max(most, len(log.batches))
    assert most <= (FAN_IN - 1) * size_of(20 * seconds)
    assert log.written_again <= 20 * seconds * size_of(20 * seconds)


def test_all_is_written_again_when_a_third_is_dead() -> None:
    put_in = {"weight": Bounds(1, 1, False)}
    taken = {"weight": Bounds(-1, 1, False)}
    base = [replace(batch(0, 2_000_000), bounds=put_in, to_offset=1) for _ in range(3)]
    changes = [replace(batch(number, 900_000), bounds=taken) for number in (1, 2, 3, 4)]
    assert not has_many_dead([*base, *changes[:3]])
    assert has_many_dead([*base, *changes])
    assert not has_many_dead([*base, *(replace(known, bounds=put_in) for known in changes)])
    assert next_merge(LogState([*base, *changes], {9})) == Rewrite((*base, *changes))
    assert next_merge(LogState([*base, *changes], {4})) is None
    # What was written together stays until as much has come again, whatever it still takes back.
    together = [replace(known, from_offset=0, to_offset=9, bounds=taken) for known in (*base, *changes)]
    assert not has_many_dead(together)
