"""Random transactions under capture; each leaves its number in a ledger, so that every cut can be checked."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import psycopg

from catalog.capture.batch import Batch
from sources.warehouse.warehouse import COMMIT_LSN, CONTROL, WEIGHT, Warehouse

Contents = dict[str, Counter[tuple[Any, ...]]]

TABLES: Final = ("ledger", "accounts", "notes", "pairs")
DEFINITIONS: Final = """
    CREATE TABLE ledger (number int PRIMARY KEY);
    CREATE TABLE accounts (id int PRIMARY KEY, owner text, balance numeric(12,2));
    CREATE TABLE notes (id int PRIMARY KEY, body text, tag text);
    ALTER TABLE notes ALTER body SET STORAGE EXTERNAL;
    CREATE TABLE pairs (a int, b text);
"""


def prepare(connection: psycopg.Connection) -> None:
    """The tables, captured from the beginning, when they are empty."""
    connection.execute(DEFINITIONS)
    for table in TABLES:
        capture_table(connection, table)


def capture_table(connection: psycopg.Connection, table: str) -> None:
    """Make an empty table one that is captured, without a copy."""
    connection.execute(f"ALTER TABLE {table} REPLICA IDENTITY FULL".encode())
    connection.execute(f"ALTER PUBLICATION gavial ADD TABLE {table}".encode())
    connection.execute(
        "INSERT INTO gavial.sources (relation, state) VALUES (%s::regclass, 'captured') "
        "ON CONFLICT (relation) DO UPDATE SET state = 'captured'",
        (table,),
    )
    connection.execute(
        "INSERT INTO gavial.schemas SELECT %s::regclass, 1, jsonb_agg(jsonb_build_array("
        "attnum, attname, atttypid::bigint, atttypmod) ORDER BY attnum) "
        "FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped",
        (table, table),
    )


def contents(connection: psycopg.Connection, tables: tuple[str, ...] = TABLES) -> Contents:
    """What the database holds, all of it at one moment."""
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        return {
            table: Counter(connection.execute(f"SELECT * FROM {table}".encode()).fetchall())
            for table in tables
        }


class Writer:
    """Commits random transactions; knows what the database holds after each one's number."""

    def __init__(self, connection: psycopg.Connection, seed: int) -> None:
        self.connection = connection
        self.random = random.Random(seed)
        self.number = 0
        self.history: dict[int, Contents] = {}

    def transact(self, times: int = 1) -> None:
        """So many transactions, of which some are rolled back."""
        for _ in range(times):
            prepared = self.random.random() < 0.1
            rolled_back = self.random.random() < 0.15
            self.connection.execute("BEGIN")
            self.connection.execute("DELETE FROM ledger")
            self.connection.execute("INSERT INTO ledger VALUES (%s)", (self.number + 1,))
            for _ in range(self.random.randint(1, 4)):
                self._step(depth=0)
            after = {table: self._rows(table) for table in TABLES}
            if prepared:
                self.connection.execute("PREPARE TRANSACTION 'ledger'")
            ending = b"ROLLBACK" if rolled_back else b"COMMIT"
            self.connection.execute(ending + (b" PREPARED 'ledger'" if prepared else b""))
            if not rolled_back:
                self.number += 1
                self.history[self.number] = after

    def transact_much(self) -> None:
        """More than the server and capture keep in memory, half of it rolled back."""
        self.connection.execute("BEGIN")
        self.connection.execute("DELETE FROM ledger")
        self.connection.execute("INSERT INTO ledger VALUES (%s)", (self.number + 1,))
        self.connection.execute("INSERT INTO pairs SELECT i, 'much' FROM generate_series(1, 3000) i")
        self.connection.execute("SAVEPOINT s")
        self.connection.execute("UPDATE pairs SET b = 'other'")
        self.connection.execute("ROLLBACK TO s")
        self.connection.execute("DELETE FROM pairs WHERE a % 100 <> 0")
        after = {table: self._rows(table) for table in TABLES}
        self.connection.execute("COMMIT")
        self.number += 1
        self.history[self.number] = after

    def _rows(self, table: str) -> Counter[tuple[Any, ...]]:
        return Counter(self.connection.execute(f"SELECT * FROM {table}".encode()).fetchall())

    def _step(self, depth: int) -> None:
        choice = self.random.random()
        if choice < 0.2 and depth < 3:
            self.connection.execute("SAVEPOINT s")
            for _ in range(self.random.randint(1, 3)):
                self._step(depth + 1)
            kept = self.random.random() < 0.5
            self.connection.execute("RELEASE s" if kept else "ROLLBACK TO s")
        elif choice < 0.24:
            self.connection.execute(self.random.choice(("TRUNCATE pairs", "TRUNCATE notes, pairs")))
        else:
            statement, values = self.random.choice(list(self._statements()))
            self.connection.execute(statement, values)

    def _statements(self) -> Iterator[tuple[bytes, tuple[object, ...]]]:
        draw, key = self.random, self.random.randint(1, 40)
        count = draw.choice((1, 1, 1, 5, 60))
        text = draw.choice((None, "", "é€𝄞", "x" * draw.choice((10, 3000, 20000))))
        yield (
            b"INSERT INTO accounts SELECT i, %s, i * 1.25 FROM generate_series(%s::int, %s) i "
            b"ON CONFLICT (id) DO UPDATE SET balance = accounts.balance + 0.01",
            (text and text[:10], key, key + count),
        )
        yield b"UPDATE accounts SET balance = nullif(balance - 1, 0) WHERE id %% 3 = %s", (key % 3,)
        yield b"DELETE FROM accounts WHERE id BETWEEN %s AND %s", (key, key + count)
        yield (
            b"UPDATE accounts SET id = id + 1000 WHERE id = %s "
            b"AND NOT EXISTS (SELECT FROM accounts o WHERE o.id = accounts.id + 1000)",
            (key,),
        )
        yield (
            b"INSERT INTO notes VALUES (%s, %s, %s) ON CONFLICT (id) DO UPDATE SET body = excluded.body",
            (key, text, str(key)),
        )
        yield b"UPDATE notes SET tag = tag || '+' WHERE id BETWEEN %s AND %s", (key - 10, key + 10)
        yield (
            b"UPDATE notes SET id = -id, tag = NULL WHERE id = %s "
            b"AND NOT EXISTS (SELECT FROM notes n WHERE n.id = -notes.id)",
            (key,),
        )
        yield b"INSERT INTO pairs SELECT %s, %s FROM generate_series(1, %s)", (key, text and text[:5], count)
        yield b"UPDATE pairs SET b = b || '!' WHERE a = %s", (key,)
        yield b"DELETE FROM pairs WHERE a = %s", (key,)


class Log:
    """The delta log of tables, read once, by position."""

    def __init__(self, warehouse: Warehouse, batches: tuple[Batch, ...], tables: dict[str, str]) -> None:
        self._changes: list[tuple[int, str, tuple[Any, ...], int]] = []
        for batch in batches:
            table = warehouse.read(batch)
            names = [name for name in table.column_names if name not in CONTROL]
            columns = [table.column(name).to_pylist() for name in (COMMIT_LSN, WEIGHT, *names)]
            for lsn, weight, *row in zip(*columns, strict=True):
                assert batch.from_offset < lsn <= batch.to_offset
                self._changes.append((lsn, tables[batch.buffer], tuple(row), weight))
        self._changes.sort(key=lambda change: change[0])

    def cuts(self) -> Iterator[Contents]:
        """The contents of all tables behind each commit; what a TRUNCATE takes back lies one before it."""
        held: Contents = {table: Counter() for table in TABLES}
        for number, (lsn, table, row, weight) in enumerate(self._changes):
            held[table][row] += weight
            if number + 1 == len(self._changes) or self._changes[number + 1][0] > lsn + 1:
                yield {name: Counter({r: w for r, w in rows.items() if w}) for name, rows in held.items()}
