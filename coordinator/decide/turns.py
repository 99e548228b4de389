"""Which query is computed next, of those whose results are due: pure.

One is computed at a time. Time is shared equally among the owners who wait, and an owner's time among that
owner's statements, each counted by what its queries are expected to take: next comes the query that would be
done first if all were computed side by side. So what a client waits for is delayed by what is being computed
then, and by as much work of each other owner, and of each other statement of the same owner, as its own and
at most one query more; a short query does not wait for a long one, and a long one is not put off for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Generic, TypeVar
from uuid import UUID

Sharer = TypeVar("Sharer", bound=Hashable)
Key = TypeVar("Key", bound=Hashable)

MOST_IN_A_ROW: Final = 3
"""So many queries that clients wait for come before one that nobody waits for, if there is one."""


@dataclass(frozen=True, slots=True)
class Request:
    """A query that is due: whose it is, with which others it was asked for, how long it is expected to take.

    `awaited`: a client waits for it.
    """

    query: UUID
    owner: str
    statement: Hashable
    seconds: float
    awaited: bool


@dataclass(frozen=True, slots=True)
class Shares(Generic[Sharer]):
    """Time that is shared equally: a clock of it, and for each who waits when its next share begins."""

    clock: float = 0.0
    begins: Mapping[Sharer, float] = field(default_factory=dict)

    def among(self, sharers: Iterable[Sharer]) -> Shares[Sharer]:
        """The shares of these, of whom newcomers begin now; whoever waits for nothing is forgotten."""
        return Shares(self.clock, {sharer: self.begins.get(sharer, self.clock) for sharer in sharers})

    def first(self, seconds: Mapping[Sharer, float]) -> Sharer:
        """The sharer that would be done first; the earlier one of equals."""
        return min(seconds, key=lambda sharer: self.begins[sharer] + seconds[sharer])

    def after(self, sharer: Sharer, seconds: float) -> Shares[Sharer]:
        """What is left to share when one of them has had so much."""
        clock = max(self.clock, self.begins[sharer] + seconds)
        return Shares(clock, {**self.begins, sharer: clock})


@dataclass(frozen=True, slots=True)
class Queue:
    """Requests of one kind: the owners' shares, and within those the shares of their statements."""

    owners: Shares[str] = Shares()
    statements: Mapping[str, Shares[Hashable]] = field(default_factory=dict)

    def among(self, requests: Sequence[Request]) -> Queue:
        """The queue with these requests; those that are new begin to wait."""
        by_owner = _grouped(requests, lambda request: request.owner)
        statements = {
            owner: self.statements.get(owner, Shares()).among(
                _grouped(group, lambda request: request.statement)
            )
            for owner, group in by_owner.items()
        }
        return Queue(self.owners.among(by_owner), statements)

    def next(self, requests: Sequence[Request]) -> tuple[Request, Queue]:
        """The one of these that is computed next, and the queue after it."""
        heads = {
            owner: self._head(owner, group)
            for owner, group in _grouped(requests, lambda request: request.owner).items()
        }
        owner = self.owners.first({owner: head.seconds for owner, head in heads.items()})
        head = heads[owner]
        shares = self.statements[owner].after(head.statement, head.seconds)
        return head, Queue(self.owners.after(owner, head.seconds), {**self.statements, owner: shares})

    def _head(self, owner: str, requests: Sequence[Request]) -> Request:
        heads = {
            statement: min(group, key=lambda request: request.seconds)
            for statement, group in _grouped(requests, lambda request: request.statement).items()
        }
        first = self.statements[owner].first({key: head.seconds for key, head in heads.items()})
        return heads[first]


@dataclass(frozen=True, slots=True)
class Turns:
    """What clients wait for goes before what only the clock asks for, which is not put off for ever."""

    awaited: Queue = Queue()
    unawaited: Queue = Queue()
    in_a_row: int = 0

    def next(self, requests: Sequence[Request]) -> tuple[Request, Turns]:
        """The one of these, at least one, that is computed next, and the turns after it."""
        awaited = [request for request in requests if request.awaited]
        others = [request for request in requests if not request.awaited]
        turns = replace(self, awaited=self.awaited.among(awaited), unawaited=self.unawaited.among(others))
        if awaited and not (others and self.in_a_row >= MOST_IN_A_ROW):
            request, queue = turns.awaited.next(awaited)
            return request, replace(turns, awaited=queue, in_a_row=self.in_a_row + 1)
        request, queue = turns.unawaited.next(others)
        return request, replace(turns, unawaited=queue, in_a_row=0)


def _grouped(requests: Iterable[Request], key: Callable[[Request], Key]) -> dict[Key, list[Request]]:
    groups: dict[Key, list[Request]] = {}
    for request in requests:
        groups.setdefault(key(request), []).append(request)
    return groups
