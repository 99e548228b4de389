"""The messages of PostgreSQL's logical replication, except those of single rows."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple, TypeAlias

from catalog.errors import ProtocolViolation

HEADER: Final = 25
"""Bytes of XLogData before the message."""

ROW_KINDS: Final = frozenset(b"IUD")
INSERT, UPDATE, DELETE = b"IUD"

_EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Begin:
    """A committed transaction follows; its commit record starts at `final_lsn`."""

    final_lsn: int


@dataclass(frozen=True, slots=True)
class Commit:
    """A transaction ends; its commit record lies before `end_lsn`."""

    end_lsn: int
    time: datetime


class WireColumn(NamedTuple):
    """A column by name and type, as a relation message describes it."""

    name: str
    type: int
    typmod: int


@dataclass(frozen=True, slots=True, eq=False)
class Relation:
    """The columns of a table from here on.

    Its changes have the whole old row, or only its columns at the places `key`.
    """

    oid: int
    columns: tuple[WireColumn, ...]
    whole: bool = True
    key: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Truncate:
    """These tables are empty; `subtransaction` is 0 in what is not streamed."""

    subtransaction: int
    relations: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Message:
    """A message of pg_logical_emit_message; `lsn` is 0 if it is part of a transaction."""

    prefix: str
    lsn: int


@dataclass(frozen=True, slots=True)
class StreamStart:
    """A portion of a transaction begins; whether it commits is unknown yet."""

    transaction: int


@dataclass(frozen=True, slots=True)
class StreamStop:
    """A portion of a streamed transaction ends."""


@dataclass(frozen=True, slots=True)
class StreamCommit:
    """A streamed transaction has committed."""

    transaction: int
    end_lsn: int
    time: datetime


@dataclass(frozen=True, slots=True)
class StreamAbort:
    """A streamed transaction, or a subtransaction of one, has aborted."""

    transaction: int
    subtransaction: int


@dataclass(frozen=True, slots=True)
class Unimportant:
    """An origin, or the name of a type."""


Control: TypeAlias = (
    Begin
    | Commit
    | Relation
    | Truncate
    | Message
    | StreamStart
    | StreamStop
    | StreamCommit
    | StreamAbort
    | Unimportant
)


def parse(data: bytes, streamed: bool) -> Control:
    """The message in an XLogData; `streamed` inside a stream, where each names its transaction."""
    try:
        return _parse(data, streamed)
    except (struct.error, ValueError) as error:
        raise ProtocolViolation(f"malformed replication message: {error}") from None


def _parse(data: bytes, streamed: bool) -> Control:
    at = HEADER + 1
    body = at + 4 if streamed else at
    match data[HEADER : HEADER + 1]:
        case b"B":
            return Begin(*struct.unpack_from(">Q", data, at))
        case b"C":
            end_lsn, time = struct.unpack_from(">Qq", data, at + 9)
            return Commit(end_lsn, _time(time))
        case b"R":
            return _relation(data, body)
        case b"T":
            count, _options = struct.unpack_from(">IB", data, body)
            within = struct.unpack_from(">I", data, at)[0] if streamed else 0
            return Truncate(within, struct.unpack_from(f">{count}I", data, body + 5))
        case b"M":
            transactional, lsn = struct.unpack_from(">BQ", data, body)
            prefix, _end = _text(data, body + 9)
            return Message(prefix, 0 if transactional else lsn)
        case b"S":
            return StreamStart(*struct.unpack_from(">I", data, at))
        case b"E":
            return StreamStop()
        case b"c":
            transaction, end_lsn, time = struct.unpack_from(">I9xQq", data, at)
            return StreamCommit(transaction, end_lsn, _time(time))
        case b"A":
            return StreamAbort(*struct.unpack_from(">II", data, at))
        case b"O" | b"Y":
            return Unimportant()
        case kind:
            raise ProtocolViolation(f"replication message of an unknown kind {kind!r}")


def _relation(data: bytes, at: int) -> Relation:
    (oid,) = struct.unpack_from(">I", data, at)
    _schema, at = _text(data, at + 4)
    _name, at = _text(data, at)
    identity, count = struct.unpack_from(">cH", data, at)
    at += 3
    columns, key = [], []
    for place in range(count):
        if data[at] & 1:
            key.append(place)
        name, at = _text(data, at + 1)
        columns.append(WireColumn(name, *struct.unpack_from(">Ii", data, at)))
        at += 8
    return Relation(oid, tuple(columns), identity == b"f", tuple(key))


def _text(data: bytes, at: int) -> tuple[str, int]:
    """A text that ends with a zero byte, and the place behind it."""
    end = data.index(0, at)
    return data[at:end].decode(), end + 1


def _time(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)
