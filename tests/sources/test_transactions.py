"""Messages to whole transactions, and names of columns to numbers: without a server (G2, G9)."""

from __future__ import annotations

import struct
from collections import Counter
from pathlib import Path

import pytest

from catalog.errors import ProtocolViolation
from catalog.postgres.shape import Attribute
from catalog.postgres.storage import Plain, StoredColumn
from catalog.postgres.types import INT4, INT8, TEXT, SqlType
from sources.messages.pgoutput import WireColumn
from sources.messages.row_messages import RowMessages
from sources.stream import transactions
from sources.stream.changes import changes_of
from sources.stream.transactions import Assembler, Emptied, Transactions
from sources.tables.versions import Known, follow

A, B = 16384, 16385


def attribute(number: int, name: str, oid: int = INT4) -> Attribute:
    storage = {INT4: Plain.INT32, INT8: Plain.INT64, TEXT: Plain.TEXT}[oid]
    type = SqlType(oid)
    return Attribute(number, type, StoredColumn(name, type, storage))


def message(body: bytes) -> bytes:
    return b"w" + bytes(24) + body


def begin(lsn: int) -> bytes:
    return message(b"B" + struct.pack(">QqI", lsn, 0, 7))


def commit(lsn: int) -> bytes:
    return message(b"C" + struct.pack(">BQQq", 0, lsn, lsn + 8, 0))


def relation(oid: int, xid: int | None = None) -> bytes:
    body = (
        struct.pack(">I", oid)
        + b"public\0t\0f"
        + struct.pack(">H", 1)
        + b"\1a\0"
        + struct.pack(">Ii", INT4, -1)
    )
    return message(b"R" + within(xid) + body)


def within(xid: int | None) -> bytes:
    return b"" if xid is None else struct.pack(">I", xid)


def row(value: int) -> bytes:
    return struct.pack(">Hcii", 1, b"b", 4, value)


def insert(oid: int, value: int, xid: int | None = None) -> bytes:
    return message(b"I" + within(xid) + struct.pack(">I", oid) + b"N" + row(value))


def update(oid: int, old: int, new: int, xid: int | None = None) -> bytes:
    return message(b"U" + within(xid) + struct.pack(">I", oid) + b"O" + row(old) + b"N" + row(new))


def truncate(*oids: int, xid: int | None = None) -> bytes:
    return message(b"T" + within(xid) + struct.pack(f">IB{len(oids)}I", len(oids), 0, *oids))


def start(xid: int) -> bytes:
    return message(b"S" + struct.pack(">IB", xid, 1))


STOP = message(b"E")


def stream_commit(xid: int, lsn: int) -> bytes:
    return message(b"c" + struct.pack(">IBQQq", xid, 0, lsn, lsn + 8, 0))


def stream_abort(xid: int, sub: int) -> bytes:
    return message(b"A" + struct.pack(">II", xid, sub))


def changes(ready: Transactions) -> Counter[tuple[object, ...]]:
    """Table, value, weight, position, whether by an update; a TRUNCATE as table and position."""
    found: Counter[tuple[object, ...]] = Counter()
    for part in ready.parts:
        if isinstance(part, Emptied):
            found[part.relation, part.lsn] += 1
            continue
        for table in changes_of(part, [attribute(1, "a")], 0, None, pytest.fail):
            found.update((part.relation.oid, *row.values()) for row in table.to_pylist())
    return found


def assembled(tmp_path: Path, *messages: bytes, position: int = 0) -> Assembler:
    assembler = Assembler(position, tmp_path)
    for message in messages:
        assembler.receive(message)
        assembler.relieve()
    return assembler


def test_transactions_have_their_positions(tmp_path: Path) -> None:
    assembler = assembled(
        tmp_path,
        *(begin(16), relation(A), insert(A, 1), relation(B), insert(B, 2), commit(16)),
        *(begin(32), update(A, 1, 3), commit(32)),
    )
    assert changes(assembler.take()) == Counter(
        [
            *((A, 1, 1, 24, False), (A, 1, -1, 40, True), (A, 3, 1, 40, True)),
            (B, 2, 1, 24, False),
        ]
    )
    assert (assembler.position, assembler.pending) == (40, False)


def test_a_batch_is_cut_only_between_transactions(tmp_path: Path) -> None:
    assembler = Assembler(0, tmp_path)
    ends = [assembler.receive(message) for message in (begin(16), relation(A), insert(A, 1), commit(16))]
    assert ends == [False, False, False, True]


def test_what_is_known_is_skipped(tmp_path: Path) -> None:
    assembler = assembled(
        tmp_path,
        *(begin(16), relation(A), insert(A, 1), commit(16)),
        *(start(7), relation(A, 7), insert(A, 2, 7), STOP, stream_commit(7, 16)),
        *(begin(24), insert(A, 3), commit(24)),
        position=24,
    )
    assert changes(assembler.take()) == Counter([(A, 3, 1, 32, False)])


@pytest.mark.parametrize("memory", [0, 1 << 20])
def test_streams_are_told_apart_and_their_aborted_parts_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory: int
) -> None:
    monkeypatch.setattr(transactions, "MEMORY_BYTES", memory)
    assembler = assembled(
        tmp_path,
        *(start(7), relation(A, 7), insert(A, 1, 7), insert(A, 2, 8), STOP),
        *(start(9), relation(A, 9), insert(A, 3, 9), STOP),
        *(begin(16), relation(A), insert(A, 4), commit(16)),
        stream_abort(7, 8),
        *(start(7), update(A, 1, 5, 7), STOP),
        *(stream_abort(9, 9), stream_commit(7, 32)),
        *(begin(48), insert(A, 6), commit(48)),
    )
    ready = assembler.take()
    assert changes(ready) == Counter(
        [
            (A, 4, 1, 24, False),
            *((A, 1, -1, 40, True), (A, 1, 1, 40, False), (A, 5, 1, 40, True)),
            (A, 6, 1, 56, False),
        ]
    )
    assert any(tmp_path.iterdir()) == (memory == 0)
    ready.discard()
    assert list(tmp_path.iterdir()) == []


def test_what_was_done_before_a_truncate_of_the_same_transaction_never_was(tmp_path: Path) -> None:
    plain = assembled(
        tmp_path,
        *(begin(16), relation(A), insert(A, 1), commit(16)),
        *(begin(32), insert(A, 2), truncate(A), insert(A, 3), commit(32)),
    )
    assert changes(plain.take()) == Counter([(A, 1, 1, 24, False), (A, 40), (A, 3, 1, 40, False)])
    streamed = assembled(
        tmp_path,
        *(start(7), relation(A, 7), insert(A, 1, 7), truncate(A, xid=8), insert(A, 2, 7), STOP),
        *(start(9), relation(B, 9), insert(B, 3, 9), truncate(B, xid=9), insert(B, 4, 9), STOP),
        *(stream_abort(7, 8), stream_commit(7, 16), stream_commit(9, 32)),
    )
    assert changes(streamed.take()) == Counter(
        [
            *((A, 1, 1, 24, False), (A, 2, 1, 24, False)),
            *((B, 40), (B, 4, 1, 40, False)),
        ]
    )


def test_a_position_is_passed_without_changes_and_on_request(tmp_path: Path) -> None:
    assembler = assembled(tmp_path, begin(16))
    assembler.advance(1000)
    assert assembler.position == 0
    assert assembler.receive(commit(16))
    assembler.advance(1000)
    assert (assembler.position, assembler.pending) == (1000, False)
    said = message(b"M" + struct.pack(">BQ", 0, 2000) + b"gavial\0" + struct.pack(">I", 0))
    assert assembler.receive(said)
    assert (assembler.position, assembler.asked) == (2000, True)


@pytest.mark.parametrize(
    "body", [b"?", b"B\0", b"C", b"R" + bytes(4) + b"no end", b"T\0\0\0\5\0", b"I" + bytes(4) + b"N"]
)
def test_what_is_no_message_is_refused(tmp_path: Path, body: bytes) -> None:
    with pytest.raises(ProtocolViolation):
        assembled(tmp_path, message(body))


def test_rows_cost_no_memory_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is put aside comes back in its order, a portion at a time."""
    monkeypatch.setattr(transactions, "MEMORY_BYTES", 2000)
    many = [insert(A, number) for number in range(100)]
    ready = assembled(tmp_path, begin(16), relation(A), *many, commit(16)).take()
    [rows] = ready.parts
    assert isinstance(rows, RowMessages)
    assert len(list(rows.portions())) > 5
    assert [value for _table, value, *_rest in changes(ready)] == list(range(100))


def wire_columns(*columns: Attribute) -> list[WireColumn]:
    return [WireColumn(column.stored.name, column.type.oid, column.type.typmod) for column in columns]


OLD = (attribute(1, "a"), attribute(2, "b"))
ADDED = (*OLD, attribute(3, "c"))
RENAMED = (attribute(1, "x"), attribute(2, "b"))
SWAPPED = (attribute(1, "b"), attribute(2, "a"))
DROPPED = (attribute(1, "a"),)
RETYPED = (attribute(1, "a"), attribute(2, "b", INT8))
REPLACED = (attribute(1, "a"), attribute(3, "b"))


@pytest.mark.parametrize(
    ("rows", "now", "followed"),
    [
        (OLD, OLD, OLD),
        (ADDED, ADDED, ADDED),
        (RENAMED, RENAMED, RENAMED),
        (SWAPPED, SWAPPED, SWAPPED),
        (DROPPED, DROPPED, DROPPED),
        (OLD, ADDED, OLD),
        (OLD, RENAMED, RENAMED),
        (OLD, DROPPED, None),
        (RETYPED, RETYPED, None),
        (OLD, RETYPED, None),
        (REPLACED, REPLACED, None),
        (ADDED, DROPPED, None),
    ],
)
def test_columns_are_followed_where_there_is_one_way_to(
    rows: tuple[Attribute, ...], now: tuple[Attribute, ...], followed: tuple[Attribute, ...] | None
) -> None:
    known = [Known(column.number, name) for column, name in zip(OLD, wire_columns(*OLD), strict=True)]
    assert follow(wire_columns(*rows), known, now, {}) == followed


@pytest.mark.parametrize(("defaults", "followed"), [({}, True), ({3: "7"}, True), ({3: None}, False)])
def test_an_added_column_has_one_value_in_older_rows(defaults: dict[int, str | None], followed: bool) -> None:
    known = [Known(column.number, name) for column, name in zip(OLD, wire_columns(*OLD), strict=True)]
    assert (follow(wire_columns(*ADDED), known, ADDED, defaults) is not None) == followed
