"""Keeps the number of batches low, however much is written and whatever else is at work."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Final, assert_never

from psycopg import Connection, IsolationLevel

from catalog.capture.batch import Batch
from catalog.capture.captured import copy_again
from catalog.capture.store import manifest
from catalog.errors import DamagedBatch, InputOutputError
from catalog.failpoints import failpoint
from catalog.queries.logs import Log, log_of, logs
from coordinator.decide.merging import Append, Drop, LogState, MergeStep, Rewrite, Sum, next_merge
from coordinator.results.positions_in_use import Moment, PositionsInUse
from sources.warehouse.merging import appended, replace_batches
from sources.warehouse.rewriting import Unwanted, rewritten
from sources.warehouse.site import CaptureSite
from sources.warehouse.warehouse import is_table_buffer

log = logging.getLogger(__name__)

_FAILED_SECONDS: Final = 60.0


class MergeOutcome(Enum):
    """What came of looking for batches of a buffer to merge; `LATER`: it is in somebody's way, or failed."""

    MERGED = auto()
    NOTHING_TO_MERGE = auto()
    LATER = auto()


@dataclass(frozen=True, slots=True)
class _Garbage:
    """Files that nobody reads when something was captured since, and all that was begun before has ended."""

    files: tuple[str, ...]
    since: Moment

    def is_left(self, now: Moment) -> bool:
        return now.captured > self.since.captured and now.oldest > self.since.decision


class Merging:
    """Merges batches in a thread of its own.

    Others read batches meanwhile: computations, until they are published, and capture, to take rows back at a
    TRUNCATE. So files that were merged are deleted when what was begun before has ended, and capture has
    advanced.
    """

    def __init__(
        self, site: CaptureSite, positions: PositionsInUse, scratch: Path, go_on: Callable[[], bool]
    ) -> None:
        self._site = site
        self._positions = positions
        self._scratch = scratch
        self._go_on = go_on
        self._garbage: list[_Garbage] = []
        self._settled: dict[str, object] = {}
        self._failed_at: dict[str, float] = {}

    def look(self, connection: Connection) -> None:
        """Merge until every buffer has few batches, and delete what nobody reads any more."""
        now = self._positions.now()
        known_logs = logs(connection)
        there = {log.buffer for log in known_logs}
        self._settled = {buffer: sign for buffer, sign in self._settled.items() if buffer in there}
        for log in known_logs:
            sign = _sign(log, now)
            if self._settled.get(log.buffer) != sign and self._may_try(log.buffer):
                outcome = MergeOutcome.MERGED
                while outcome is MergeOutcome.MERGED and self._go_on():
                    outcome = self._merge(connection, log.buffer)
                if outcome is MergeOutcome.NOTHING_TO_MERGE:
                    self._settled[log.buffer] = sign
        self._collect_garbage()

    def _may_try(self, buffer: str) -> bool:
        return time.monotonic() - self._failed_at.get(buffer, float("-inf")) > _FAILED_SECONDS

    def _merge(self, connection: Connection, buffer: str) -> MergeOutcome:
        """Do the next step for a buffer, if there is one."""
        step = self._next(connection, buffer)
        if step is None:
            return MergeOutcome.NOTHING_TO_MERGE
        began = time.thread_time()
        try:
            merged = self._carry_out(step)
        except Unwanted:
            return MergeOutcome.LATER
        except (DamagedBatch, InputOutputError, OSError) as error:
            return self._on_failure(connection, buffer, step, error)
        is_done = replace_batches(connection, self._site, step.batches, merged)
        replaced = step.batches if is_done else merged
        if is_done:
            log.info(
                "buffer %s: %d files become %d, %d bytes become %d, in %.3f s of a processor",
                buffer,
                *(len(step.batches), len(merged)),
                *(sum(batch.bytes for batch in batches) for batches in (step.batches, merged)),
                time.thread_time() - began,
            )
        self._garbage.append(_Garbage(tuple(batch.file for batch in replaced), self._positions.now()))
        return MergeOutcome.MERGED if is_done else MergeOutcome.LATER

    def _next(self, connection: Connection, buffer: str) -> MergeStep | None:
        """The next step by offsets and manifest of one moment; who begins later stands behind its limit."""
        now = self._positions.now()
        connection.isolation_level = IsolationLevel.REPEATABLE_READ
        try:
            with connection.transaction():
                log = log_of(connection, buffer)
                batches = manifest(connection, [buffer])
        finally:
            connection.isolation_level = None
        if log is None:
            return None
        if is_table_buffer(buffer):
            stops = now.in_use.union(log.stops)
            return next_merge(LogState(batches, stops, now.captured, log.emptied))
        return next_merge(LogState(batches, log.stops))

    def _carry_out(self, step: MergeStep) -> tuple[Batch, ...]:
        warehouse = self._site.warehouse
        match step:
            case Drop():
                return ()
            case Append(batches=batches):
                return appended(warehouse, batches)
            case Sum(batches=batches) | Rewrite(batches=batches):
                return rewritten(warehouse, batches, self._scratch, self._go_on)
            case _:
                assert_never(step)

    def _on_failure(
        self, connection: Connection, buffer: str, step: MergeStep, error: Exception
    ) -> MergeOutcome:
        """Leave the buffer alone for a while, unless somebody else has replaced the files meanwhile."""
        named = {batch.file for batch in manifest(connection, [buffer])}
        if not named.issuperset(batch.file for batch in step.batches):
            return MergeOutcome.LATER
        log.error("buffer %s cannot be merged: %s", buffer, error)
        self._failed_at[buffer] = time.monotonic()
        if isinstance(error, DamagedBatch):
            copy_again(connection, self._site.epoch, buffer, error.message)
        return MergeOutcome.LATER

    def _collect_garbage(self) -> None:
        now = self._positions.now()
        for garbage in self._garbage:
            if garbage.is_left(now):
                self._site.warehouse.remove(garbage.files)
                failpoint("merge: files deleted")
        self._garbage = [garbage for garbage in self._garbage if not garbage.is_left(now)]


def _sign(log: Log, now: Moment) -> object:
    """What a decision about a buffer rests on: as long as it stays the same, so does the decision."""
    if not is_table_buffer(log.buffer):
        return log
    return log, min(now.captured, log.upto), frozenset(stop for stop in now.in_use if stop < log.upto)
