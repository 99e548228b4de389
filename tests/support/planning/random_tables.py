"""Random tables with keys, foreign keys and NULLs, and random changes of their rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Final, TypeAlias

from catalog.postgres import types
from catalog.postgres.schema import TableName
from catalog.postgres.types import SqlType
from executors.reference.values.input import read
from executors.reference.values.values import Bag, Row

SCHEMA: Final = "r"
MOST_ROWS: Final = 7
NULL_SHARE: Final = 0.2

Texts: TypeAlias = tuple[str | None, ...]


@dataclass(frozen=True)
class Kind:
    """A type: its oid, its name in SQL, and the few values that columns of it have."""

    oid: int
    name: str
    values: tuple[str, ...]


KINDS: Final[Mapping[str, Kind]] = {
    "int": Kind(types.INT4, "integer", ("-1", "0", "1", "2", "3")),
    "big": Kind(types.INT8, "bigint", ("0", "1", "2", "3000000000")),
    "number": Kind(types.NUMERIC, "numeric(8,2)", ("0.00", "1.50", "-2.25", "2.00", "100.10")),
    "exact": Kind(types.NUMERIC, "numeric", ("0", "1.5", "2", "0.333", "-7")),
    "float": Kind(types.FLOAT8, "double precision", ("0", "0.25", "-1.5", "2", "NaN")),
    "text": Kind(types.TEXT, "text", ("", "a", "ab", "b%", "Ab", "a_c")),
    "short": Kind(types.VARCHAR, "varchar(4)", ("", "a", "ab", "abcd")),
    "code": Kind(types.BPCHAR, "character(3)", ("a", "ab", "abc", "")),
    "flag": Kind(types.BOOL, "boolean", ("t", "f")),
    "day": Kind(types.DATE, "date", ("2020-01-31", "2020-02-29", "2021-12-31", "2020-01-01")),
    "at": Kind(
        types.TIMESTAMP, "timestamp", ("2020-01-31 12:00:00", "2020-02-29 00:00:00", "2021-12-31 23:59:59.5")
    ),
    "span": Kind(types.INTERVAL, "interval", ("1 mon", "30 days", "24:00:00", "-1 days")),
}
EDGES: Final[Mapping[str, tuple[str, ...]]] = {
    "float": ("-0", "-0", "Infinity", "-Infinity"),
    "code": ("a  ",),
    "text": ("a ", " "),
    "span": ("1 mon -30 days", "00:00:00"),
}
"""Values that are equal to others which are written differently, and the farthest ones; the definition in
Python has one of equal rows, so that only PostgreSQL says what comes of these."""

KEY: Final = Kind(types.INT4, "integer", ("-1", *map(str, range(9))))


@dataclass(frozen=True)
class RandomColumn:
    """A column; `parent` is the table whose key it repeats."""

    name: str
    kind: Kind
    nullable: bool
    parent: str | None = None


@dataclass
class RandomTable:
    """A table and the rows it has now, as texts; the first `key` columns are its primary key."""

    name: str
    columns: tuple[RandomColumn, ...]
    key: int
    rows: list[Texts] = field(default_factory=list)

    @property
    def qualified(self) -> str:
        """Its name in SQL."""
        return f"{SCHEMA}.{self.name}"

    @property
    def ddl(self) -> str:
        """The statement that creates it."""
        columns = [
            f"{column.name} {column.kind.name}{'' if column.nullable else ' NOT NULL'}"
            for column in self.columns
        ]
        keys = ", ".join(column.name for column in self.columns[: self.key])
        constraints = [f"PRIMARY KEY ({keys})"] if self.key else []
        constraints += [
            f"FOREIGN KEY ({column.name}) REFERENCES {SCHEMA}.{column.parent}"
            for column in self.columns
            if column.parent
        ]
        return f"CREATE TABLE {self.qualified} ({', '.join([*columns, *constraints])})"

    @property
    def bag(self) -> Bag:
        """The rows as values."""
        return Counter(self.values(row) for row in self.rows)

    def values(self, row: Texts) -> Row:
        """The row's values."""
        pairs = zip(row, self.columns, strict=True)
        return tuple(None if text is None else read(text, SqlType(column.kind.oid)) for text, column in pairs)


@dataclass(frozen=True)
class RandomTables:
    """Some tables; a foreign key refers to one before."""

    tables: tuple[RandomTable, ...]

    def fill(self, random: Random) -> None:
        """Give every table rows."""
        for table in self.tables:
            table.rows[:] = [
                self._row(random, table) for _ in range(random.choice((0, *(3, 5, MOST_ROWS) * 4)))
            ]
        self._repair()

    def change(self, random: Random) -> Mapping[TableName, list[tuple[Row, int]]]:
        """Insert, delete and update rows, or only insert; the changes, in which a row may come and go."""
        actions = random.choice((("insert",), ("insert", "insert", "delete", "update")))
        before = {table.name: Counter(table.rows) for table in self.tables}
        for table in self.tables:
            for _ in range(random.choice((0, 1, 1, 3))):
                self._change_row(random, table, random.choice(actions))
            if len(actions) > 1 and random.random() < 0.05:
                table.rows.clear()
        self._repair()
        return {
            TableName(SCHEMA, table.name): list(
                _difference(random, table, before[table.name], len(actions) > 1)
            )
            for table in self.tables
        }

    def statements(self) -> Iterator[str]:
        """What gives PostgreSQL's tables these rows."""
        for table in reversed(self.tables):
            yield f"DELETE FROM {table.qualified}"
        for table in self.tables:
            if table.rows:
                rows = ", ".join("(" + ", ".join(map(literal, row)) + ")" for row in table.rows)
                yield f"INSERT INTO {table.qualified} VALUES {rows}"

    def contents(self) -> Mapping[TableName, Bag]:
        """The rows of each table."""
        return {TableName(SCHEMA, table.name): table.bag for table in self.tables}

    def _change_row(self, random: Random, table: RandomTable, action: str) -> None:
        if action != "insert" and table.rows:
            table.rows.pop(random.randrange(len(table.rows)))
        if action != "delete":
            table.rows.append(self._row(random, table))

    def _row(self, random: Random, table: RandomTable) -> Texts:
        return tuple(self._value(random, column) for column in table.columns)

    def _value(self, random: Random, column: RandomColumn) -> str | None:
        if column.nullable and random.random() < NULL_SHARE:
            return None
        parents = [table for table in self.tables if table.name == column.parent and table.rows]
        if parents:
            rows = parents[0].rows
            return random.choice((random.choice(rows), rows[-1]))[0]  # the newest as often as all others
        return random.choice(column.kind.values)

    def _repair(self) -> None:
        """Drop the rows that no constraint allows."""
        for table in self.tables:
            seen: set[Texts] = set()
            parents = {table.name: {row[0] for row in table.rows} for table in self.tables}
            kept: list[Texts] = []
            for row in table.rows:
                key = row[: table.key]
                orphan = any(
                    value is not None and value not in parents[column.parent]
                    for value, column in zip(row, table.columns, strict=True)
                    if column.parent
                )
                if not orphan and not (table.key and key in seen):
                    kept.append(row)
                    seen.add(key)
            table.rows[:] = kept


def random_tables(random: Random, edges: bool = False) -> RandomTables:
    """Three or four tables, with values at the edges of their types or without."""
    all_kinds = [
        replace(kind, values=kind.values + EDGES.get(name, ())) if edges else kind
        for name, kind in KINDS.items()
    ]
    tables: list[RandomTable] = []
    for number in range(random.randint(3, 4)):
        parents = [table for table in tables if table.key == 1]
        key = random.choice((0, 1, 1, 1, 2))
        columns = [_key_column(random, number, place) for place in range(key)]
        columns += (
            [_parent_column(random, number, random.choice(parents))]
            if parents and random.random() < 0.8
            else []
        )
        kinds = random.choices(all_kinds, k=random.randint(2, 4))
        columns += [
            RandomColumn(f"c{number}{place}", kind, random.random() < 0.7) for place, kind in enumerate(kinds)
        ]
        tables.append(RandomTable(f"t{number}", tuple(columns), key))
    return RandomTables(tuple(tables))


def _key_column(random: Random, number: int, place: int) -> RandomColumn:
    kind = KEY if place == 0 else random.choice((KINDS["int"], KINDS["text"], KINDS["day"]))
    return RandomColumn(f"k{number}{place}", kind, False)


def _parent_column(random: Random, number: int, parent: RandomTable) -> RandomColumn:
    return RandomColumn(f"f{number}", parent.columns[0].kind, random.random() < 0.5, parent.name)


def _difference(
    random: Random, table: RandomTable, before: Counter[Texts], updates: bool
) -> Iterator[tuple[Row, int]]:
    after = Counter(table.rows)
    for row in (before - after).elements():
        yield table.values(row), -1
    for row in (after - before).elements():
        yield table.values(row), 1
    for row in before & after:
        if updates and random.random() < 0.1:  # an update that changes nothing
            yield table.values(row), -1
            yield table.values(row), 1


def literal(text: str | None) -> str:
    """The text as SQL has it."""
    return "NULL" if text is None else "'" + text.replace("'", "''") + "'"
