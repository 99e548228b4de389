"""Rows as PostgreSQL sends them, decoded, beside what a SELECT says of the same rows."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import psycopg
import pyarrow as pa

from catalog.errors import ValueNotStorable
from catalog.postgres.signatures import TypeSignature
from catalog.postgres.signatures_reader import read_signatures
from catalog.postgres.storage import StoredColumn, stored_column
from catalog.postgres.types import SqlType
from sources.decode.arrow import is_written
from sources.decode.columns import Decoded, decode_rows
from sources.messages.fields import Layout
from sources.server.session import connect
from tests.support.capture.decode_cases import SETUP, Case, Written
from tests.support.running.servers import Server

PUBLICATION = SLOT = "decoding"
COPY_HEADER, COPY_TRAILER = 19, b"\xff\xff"


def stored(decoded: Decoded, columns: Sequence[StoredColumn]) -> Decoded:
    """The rows, if all their values can be stored; the first that cannot be is an error."""
    for column, reasons in zip(columns, decoded.reasons, strict=True):
        for reason in [] if reasons is None else reasons.drop_null().to_pylist():
            raise ValueNotStorable(column.name, reason)
    return decoded


WAYS = ("pgoutput binary", "pgoutput text", "copy")
COLUMNS = """
    SELECT attname, atttypid::int8, atttypmod, attcollation::int8 FROM pg_attribute
    WHERE attrelid = 'decoding.t'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""
CHANGES = """
    SELECT data FROM pg_logical_slot_peek_binary_changes(
        %s, NULL, NULL, 'proto_version', '1', 'publication_names', %s, 'binary', %s)
"""


@dataclass(frozen=True)
class Laboratory:
    """A database with a table `decoding.t` that is made anew for each question."""

    connection: psycopg.Connection
    types: Mapping[int, TypeSignature]

    def make(self, columns: str) -> None:
        """A new table; what happened to the last one is forgotten."""
        self.connection.execute(f"DROP TABLE IF EXISTS t; CREATE TABLE t ({columns})".encode())
        self.forget()

    def forget(self) -> None:
        """There are no rows, and no changes are waiting."""
        self.connection.execute("TRUNCATE t")
        self.discard_changes()

    def discard_changes(self) -> None:
        """No changes are waiting."""
        self.connection.execute("SELECT pg_replication_slot_advance(%s, pg_current_wal_lsn())", (SLOT,))

    def columns(self) -> list[StoredColumn]:
        """The table's columns, as they are stored."""
        rows = self.connection.execute(COLUMNS).fetchall()
        return [stored_column(name, SqlType(*numbers), self.types) for name, *numbers in rows]

    def decode(self, way: str) -> Decoded:
        """All rows that were inserted."""
        if way == "copy":
            data, starts = self._copied()
            return stored(decode_rows(data, starts, self.columns(), Layout.COPY), self.columns())
        messages = self.changes(binary=way == "pgoutput binary")
        inserts = [message for message in messages if message[:1] == b"I"]
        decoded = decode_rows(b"".join(inserts), starts_of(inserts, 6), self.columns(), Layout.PGOUTPUT)
        return stored(decoded, self.columns())

    def changes(self, *, binary: bool) -> list[bytes]:
        """The messages of pgoutput."""
        cursor = self.connection.cursor(binary=True)
        cursor.execute(CHANGES, (SLOT, PUBLICATION, "true" if binary else "false"))
        return [bytes(data) for (data,) in cursor]

    def _copied(self) -> tuple[bytes, Any]:
        with self.connection.cursor().copy("COPY t TO STDOUT (FORMAT binary)") as copy:
            messages = [bytes(message) for message in copy]
        messages[0] = messages[0][COPY_HEADER:]
        rows = [message for message in messages if message not in (b"", COPY_TRAILER)]
        return b"".join(rows), starts_of(rows, 0)


@contextmanager
def laboratory(server: Server) -> Iterator[Laboratory]:
    """A database of its own, with a slot."""
    name = "decoding"
    with psycopg.connect(server.dsn(), autocommit=True) as administrator:
        administrator.execute("CREATE DATABASE decoding")
    try:
        with connect(server.dsn(dbname=name)) as connection:
            connection.execute(f"CREATE SCHEMA decoding; SET search_path = decoding; {SETUP}".encode())
            # The WAL is read up to where it was flushed.
            connection.execute("SET synchronous_commit = on")
            connection.execute("CREATE PUBLICATION decoding FOR ALL TABLES")
            connection.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (SLOT,))
            yield Laboratory(connection, asyncio.run(_types(server.dsn(dbname=name))))
            connection.execute("SELECT pg_drop_replication_slot(%s)", (SLOT,))
    finally:
        with psycopg.connect(server.dsn(), autocommit=True) as administrator:
            administrator.execute("DROP DATABASE decoding WITH (FORCE)")


async def _types(dsn: str) -> Mapping[int, TypeSignature]:
    async with await psycopg.AsyncConnection.connect(dsn) as connection:
        return (await read_signatures(connection)).types


def starts_of(messages: Sequence[bytes], offset: int) -> Any:
    """Where each row starts when the messages lie one behind the other."""
    lengths = np.array([len(message) for message in messages], np.int64)
    return np.cumsum(lengths) - lengths + offset


def told(array: pa.Array) -> list[Any]:
    """The values as the cases' expressions tell them."""
    match array.type:
        case type if pa.types.is_list(type):
            elements = told(array.values)
            bounds = array.offsets.to_pylist()
            lists = [elements[low:high] for low, high in pairwise(bounds)]
            return [
                found if valid else None
                for found, valid in zip(lists, array.is_valid().to_pylist(), strict=True)
            ]
        case type if is_written(type):
            numbers, texts = (told(child) for child in array.flatten())
            for number, text in zip(numbers, texts, strict=True):
                assert number is None or Decimal(number) == Decimal(text)
            return texts
        case type if pa.types.is_date(type):
            return told(array.cast(pa.int32()))
        case type if pa.types.is_timestamp(type):
            return told(array.cast(pa.int64()))
        case type:
            return [None if value is None else _told(value, type) for value in array.to_pylist()]


def _told(value: Any, type: pa.DataType) -> str:
    if pa.types.is_boolean(type):
        return str(value).lower()
    if pa.types.is_floating(type):
        return struct.pack(">f" if type == pa.float32() else ">d", value).hex()
    if pa.types.is_decimal(type):
        whole, _, fraction = f"{value:f}".partition(".")
        return f"{whole}.{fraction.rstrip('0')}".rstrip(".")
    if pa.types.is_binary(type):
        return bytes(value).hex()
    return " ".join(map(str, value.values())) if pa.types.is_struct(type) else str(value)


def insert(connection: psycopg.Connection, case: Case, values: Sequence[Written]) -> None:
    """Write values into the column `v`, in this order."""
    query = f"INSERT INTO t (v) VALUES (%s::text{'[]' if case.is_list else ''}::{case.type})"
    with connection.cursor() as cursor:
        cursor.executemany(query.encode(), [(value,) for value in values])
