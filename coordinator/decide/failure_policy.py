"""What the failure of a query means: who is told, what its status is then, and how long it is left alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import UUID

from catalog.backoff import Backoff
from catalog.consequences import Consequence, consequence_of
from catalog.errors import ObjectNotInState
from catalog.queries.running import Failure, Running
from dialect.statements.quoting import quoted_name
from dialect.statements.statement import Name

_FIRST_SECONDS: Final = 1.0
_LONGEST_SECONDS: Final = 300.0
_LONGEST_OF_THE_MACHINE_SECONDS: Final = 20.0
NO_TIME_SECONDS: Final = 0.2
"""A failure that took no longer has delayed nobody."""


def is_retried_in_silence(failure: Failure) -> bool:
    """Whether the failure may pass by itself: whoever waits is told, and the query's status stays."""
    return consequence_of(failure.sqlstate) is Consequence.RETRY


def status_after(failure: Failure) -> str:
    """The status of a query that failed so."""
    return "suspended" if consequence_of(failure.sqlstate) is Consequence.SUSPEND else "error"


def needs_resume(query: Running) -> bool:
    """Whether the query stays as it is until its owner does something."""
    if query.status != "error" or query.sqlstate is None:
        return query.status == "suspended"
    return not query.of_values and consequence_of(query.sqlstate) in (Consequence.SUSPEND, Consequence.CHANGE)


def is_blocked(query: Running) -> bool:
    """Whether nothing can be done for the query until somebody changes it, or a table that it reads."""
    return query.stopped is not None or needs_resume(query)


def why_not(query: Running) -> Failure:
    """What a statement is told that waits for such a query."""
    in_error, not_in_state = f'standing query "{query.name}" is in error', ObjectNotInState.sqlstate
    if query.stopped is not None and query.status != "suspended":
        hint = "It is tried again by itself, ever less often, and whenever a statement waits for it."
        return Failure(not_in_state, in_error, query.stopped, hint)
    hint = f"ALTER STANDING QUERY {quoted_name(Name(query.schema, query.name))} RESUME"
    if query.status == "error" and query.sqlstate is not None:
        resumed = f"When the cause is gone: {hint}" if needs_resume(query) else None
        return Failure(query.sqlstate, in_error, query.detail, resumed)
    return Failure(not_in_state, f'standing query "{query.name}" is suspended', query.detail, hint)


@dataclass(frozen=True, slots=True)
class Pause:
    """How long something that failed is left alone, and since when."""

    backoff: Backoff = field(default_factory=lambda: Backoff(_FIRST_SECONDS, _LONGEST_SECONDS))
    since: float = float("-inf")

    def is_over(self, is_asked_for: bool, seconds: float) -> bool:
        """Whether it may be tried again at this time; soon, where somebody has asked for it."""
        pause = self.backoff.seconds
        return seconds >= self.since + (min(pause, _FIRST_SECONDS) if is_asked_for else pause)

    def longer(self, seconds: float, is_of_the_machine: bool = False) -> Pause:
        """The pause after one more failure, at this time."""
        longest = _LONGEST_OF_THE_MACHINE_SECONDS if is_of_the_machine else _LONGEST_SECONDS
        return Pause(replace(self.backoff, longest=longest).longer(), seconds)


@dataclass(frozen=True, slots=True)
class _Rest:
    """A query's pause; `seen_at`: the position of the data that had an error; `delayed_others`: since when
    its last failure has, if it took any time."""

    pause: Pause
    seen_at: int | None = None
    delayed_others: float | None = None


@dataclass(frozen=True, slots=True)
class Resting:
    """Queries that failed lately: each is left alone for a while."""

    rests: Mapping[UUID, _Rest] = field(default_factory=dict)

    def set_aside(
        self,
        query: UUID,
        seconds: float,
        failure: Failure | None = None,
        position: int = 0,
        took: float = 0.0,
    ) -> Resting:
        """The query failed at this time, in the data up to a position, after it `took` so many seconds.

        What the machine lacks may be mended at any time, so such a pause is short.
        """
        rest = self.rests.get(query, _Rest(Pause()))
        is_of_the_machine = failure is not None and consequence_of(failure.sqlstate) is Consequence.REPAIR
        seen_at = rest.seen_at
        if failure is not None:
            seen_at = position if failure.of_values else None
        delayed_others = seconds if took > NO_TIME_SECONDS else rest.delayed_others
        pause = rest.pause.longer(seconds, is_of_the_machine)
        return Resting({**self.rests, query: _Rest(pause, seen_at, delayed_others)})

    def without(self, query: UUID) -> Resting:
        """The query's failures are forgotten: it did well, or is gone."""
        return Resting({id: rest for id, rest in self.rests.items() if id != query})

    def among(self, queries: Collection[UUID]) -> Resting:
        """Of these queries only."""
        return Resting({id: rest for id, rest in self.rests.items() if id in queries})

    def now(self, asked: Collection[UUID], seconds: float) -> set[UUID]:
        """The queries left alone at this time; not for long, where somebody has asked for them."""
        return {id for id, rest in self.rests.items() if not rest.pause.is_over(id in asked, seconds)}

    @property
    def seen_at(self) -> Mapping[UUID, int]:
        """Where data had an error that only newer changes of what the query reads can mend."""
        return {id: rest.seen_at for id, rest in self.rests.items() if rest.seen_at is not None}

    def delayed_others(self, query: UUID) -> float | None:
        """When the query last failed after a time in which others had to wait; None: it did not."""
        rest = self.rests.get(query)
        return None if rest is None else rest.delayed_others
