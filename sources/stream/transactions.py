"""Assembles messages into whole committed transactions; no I/O but for the files that large ones spill to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final, TypeAlias, assert_never

from catalog.errors import ProtocolViolation
from sources.messages.pgoutput import (
    HEADER,
    ROW_KINDS,
    Begin,
    Commit,
    Message,
    Relation,
    StreamAbort,
    StreamCommit,
    StreamStart,
    StreamStop,
    Truncate,
    Unimportant,
    parse,
)
from sources.messages.row_messages import OVERHEAD, VOID, RowMessages

MEMORY_BYTES: Final = 48 << 20
"""The bytes of messages kept in memory; the rest is spilled to files."""

PREFIX: Final = "gavial"
"""The prefix of logical messages that ask for the position to be committed."""


@dataclass(slots=True)
class Emptied:
    """A TRUNCATE of one table, and the position of its commit."""

    relation: int
    subtransaction: int
    lsn: int = 0


Part: TypeAlias = RowMessages | Emptied


@dataclass(frozen=True, slots=True, eq=False)
class Transactions:
    """Whole transactions: their parts in order, everything up to `position`; `time` is that of the last."""

    parts: tuple[Part, ...]
    position: int
    time: datetime | None

    def discard(self) -> None:
        """Delete the files that rows were moved to."""
        for part in self.parts:
            if isinstance(part, RowMessages):
                part.discard()


@dataclass(slots=True, eq=False)
class Collection:
    """The messages so far: of one streamed transaction, or of all others in sequence."""

    streamed: bool
    relations: dict[int, Relation] = field(default_factory=dict)
    parts: list[Part] = field(default_factory=list)
    open: dict[bytes, RowMessages] = field(default_factory=dict)
    aborted: set[int] = field(default_factory=set)
    size: int = 0

    def begin_rows(self, key: bytes) -> RowMessages:
        """Begin rows of a table, for the first time or with other columns; the key is its oid as sent."""
        relation = self.relations.get(int.from_bytes(key, "big"))
        if relation is None:
            raise ProtocolViolation("a row of a table that was not told before")
        rows = RowMessages(relation, self.streamed)
        self.open[key] = rows
        self.parts.append(rows)
        return rows

    def tell(self, relation: Relation) -> None:
        """Note what the table's rows look like from here on."""
        self.relations[relation.oid] = relation
        self.open.pop(relation.oid.to_bytes(4, "big"), None)

    def empty(self, message: Truncate) -> None:
        """Note that tables were truncated."""
        for oid in message.relations:
            self.open.pop(oid.to_bytes(4, "big"), None)
            if not self.streamed:
                _undo(self.parts, oid)
            self.parts.append(Emptied(oid, message.subtransaction))

    def commit(self, lsn: int) -> None:
        """Mark everything not committed yet as committed at this position."""
        for part in self.parts:
            match part:
                case RowMessages():
                    part.commit(lsn)
                case Emptied():
                    part.lsn = part.lsn or lsn
                case _:
                    assert_never(part)

    def take_in(self, stream: Collection) -> None:
        """Append a streamed transaction that commits now; its descriptions of tables hold for later rows."""
        self.relations.update(stream.relations)
        self.open.clear()
        self.size += stream.size
        aborted = frozenset(stream.aborted)
        for number, part in enumerate(stream.parts):
            match part:
                case RowMessages():
                    part.aborted = aborted
                    self.parts.append(part)
                case Emptied(relation=oid, subtransaction=within):
                    if within not in aborted:
                        _undo(stream.parts[:number], oid)
                        self.parts.append(part)
                case _:
                    assert_never(part)

    def rows(self) -> list[RowMessages]:
        """The parts that are rows."""
        return [part for part in self.parts if isinstance(part, RowMessages)]

    def discard(self) -> None:
        """Delete the files that rows were moved to."""
        for rows in self.rows():
            rows.discard()


class Assembler:
    """The state between a stream of messages and the transactions in it.

    Everything up to `position` was received, here or before. `asked`: somebody waits for that to be
    committed.
    """

    def __init__(self, position: int, scratch: Path) -> None:
        self.position = position
        self.asked = False
        self._scratch = scratch
        self._time: datetime | None = None
        self._plain = Collection(streamed=False)
        self._streams: dict[int, Collection] = {}
        self._now = self._plain
        self._oid = HEADER + 1
        self._in_transaction = False
        self._known = False

    def receive(self, data: bytes) -> bool:
        """Take the next XLogData; whether it ends a transaction, so that a batch may be cut."""
        if data[HEADER] not in ROW_KINDS:
            return self._control(data)
        if not self._known:
            now, key = self._now, data[self._oid : self._oid + 4]
            rows = now.open.get(key)
            if rows is None:
                rows = now.begin_rows(key)
            rows.messages.append(data)
            now.size += len(data) + OVERHEAD
        return False

    def advance(self, lsn: int) -> None:
        """Note that everything up to the position was sent, unless a transaction is under way."""
        if not self._in_transaction:
            self.position = max(self.position, lsn)

    @property
    def between(self) -> bool:
        """Whether no transaction is under way, apart from streamed ones."""
        return not self._in_transaction and self._now is self._plain

    @property
    def pending(self) -> bool:
        """Whether there is something to take."""
        return bool(self._plain.parts) or self.asked

    @property
    def ready_bytes(self) -> int:
        """The memory of the complete transactions."""
        return self._plain.size

    def take(self) -> Transactions:
        """Take the complete transactions; only between two transactions."""
        assert not self._in_transaction
        taken, self._plain = self._plain, Collection(False, self._plain.relations)
        self._now = self._plain if self._now is taken else self._now
        self.asked = False
        return Transactions(tuple(taken.parts), self.position, self._time)

    def relieve(self) -> None:
        """Keep the memory bounded."""
        collections = (self._plain, *self._streams.values())
        if sum(collection.size for collection in collections) <= MEMORY_BYTES:
            return
        for collection in sorted(collections, key=lambda collection: collection.size, reverse=True):
            for rows in collection.rows():
                rows.spill(self._scratch)
            collection.size = 0
            if sum(collection.size for collection in collections) <= MEMORY_BYTES // 2:
                break

    def _control(self, data: bytes) -> bool:
        match message := parse(data, self._now.streamed):
            case Begin(final_lsn=lsn):
                self._in_transaction = True
                self._known = lsn < self.position
            case Commit(end_lsn=lsn, time=time):
                self._in_transaction = self._known = False
                self._commit(lsn, time)
            case Relation():
                self._now.tell(message)
            case Truncate():
                if not self._known:
                    self._now.empty(message)
            case Message(prefix=prefix, lsn=lsn):
                self.asked = self.asked or prefix == PREFIX
                self.advance(lsn)
            case StreamStart(transaction=transaction):
                self._now = self._streams.setdefault(transaction, Collection(streamed=True))
                self._oid = HEADER + 5
            case StreamStop():
                self._now, self._oid = self._plain, HEADER + 1
            case StreamCommit(transaction=transaction, end_lsn=lsn, time=time):
                self._commit_stream(transaction, lsn, time)
            case StreamAbort(transaction=transaction, subtransaction=within):
                self._abort_stream(transaction, within)
            case Unimportant():
                pass
            case _:
                assert_never(message)
        return self.between

    def _commit(self, lsn: int, time: datetime) -> None:
        self._plain.commit(lsn)
        if lsn > self.position:
            self.position, self._time = lsn, time

    def _commit_stream(self, transaction: int, lsn: int, time: datetime) -> None:
        stream = self._streams.pop(transaction)
        if lsn <= self.position:
            self._plain.relations.update(stream.relations)
            self._plain.open.clear()
            stream.discard()
        else:
            self._plain.take_in(stream)
            self._commit(lsn, time)

    def _abort_stream(self, transaction: int, within: int) -> None:
        if within == transaction:
            self._streams.pop(transaction).discard()
        else:
            self._streams[transaction].aborted.add(within)


def _undo(parts: Sequence[Part], oid: int) -> None:
    """Undo the changes of a transaction to a table before it truncated it."""
    for part in parts:
        if isinstance(part, RowMessages) and part.relation.oid == oid:
            part.commit(VOID)
