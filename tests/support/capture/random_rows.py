"""Random tables over all types, and random changes of their rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Final

from tests.support.standing.cases import (
    Change,
    Column,
    Insert,
    Other,
    Restart,
    Statement,
    Step,
    Table,
    Update,
)
from tests.support.standing.composed_types import COMPOSED
from tests.support.standing.kinds import KINDS, UNREAD, UNSTORABLE
from tests.support.standing.values import Feature, Kind

ROWS: Final = 12
NULL_SHARE: Final = 0.15
LONG: Final = "(SELECT string_agg(md5(i::text), '') FROM generate_series(1, 200) AS i)"
"""A text that is stored out of line."""

GENERATED: Final = {
    "int": "{c} % 3",
    "text": "upper({c}) || '!'",
    "float": "{c} + 0.5",
    "numeric": "{c} + 0.50",
    "bool": "NOT {c}",
    "date": "{c} - date '2000-01-01'",
    "bpchar": "{c} || 'x'",
    "timestamp": "{c} + interval '1 day'",
    "interval": "-{c}",
    "bytea": "{c} || '\\x01'",
}
LIMITED: Final = ("positive", "small", "moment")
"""Domains that no generated value may leave."""

_TOO_NEW: Final = "syntax_error OR object_not_in_prerequisite_state"
NEWER: Final = f"DO $$ BEGIN EXECUTE '{{}}'; EXCEPTION WHEN {_TOO_NEW} THEN NULL; END $$"
"""A statement that older servers do not have, or that a column which is not generated any more refuses."""

LARGE: Final = "numeric(38,0)"
"""Its values are `NUMERIC_LARGE` where nothing says that they have no digits behind the point."""


@dataclass(frozen=True)
class Readable:
    """A table or partition as queries see it."""

    name: str
    columns: tuple[tuple[str, Kind], ...]


@dataclass
class RandomTable:
    """A table, the kinds of its columns, and which ids it has had."""

    table: Table
    kinds: tuple[tuple[str, Kind], ...]
    computed: tuple[tuple[str, Kind], ...]
    unread: tuple[tuple[str, str], ...]
    identity: bool
    leaves: tuple[str, ...] = ()
    ids: list[int] = field(default_factory=list)

    def readable(self) -> Iterator[Readable]:
        """The table and its partitions."""
        for name in (self.table.name, *self.leaves):
            yield Readable(name, (*self.kinds, *self.computed))


@dataclass
class RandomCase:
    """The tables of a case, and a source of statements."""

    random: Random
    features: frozenset[Feature]
    tables: list[RandomTable] = field(default_factory=list)
    _altered: int = 0

    def __post_init__(self) -> None:
        self.kinds = [kind for kind in KINDS if kind.needs is None or kind.needs in self.features]
        for number in range(2):
            self.tables.append(
                self._table(f"t{number}", Feature.PARTITIONS in self.features and self._chance(0.35))
            )

    def readable(self) -> list[Readable]:
        """All that queries may read."""
        return [readable for table in self.tables for readable in table.readable()]

    def fill(self) -> tuple[Statement, ...]:
        """The first rows."""
        return tuple(self._insert(table) for table in self.tables for _ in range(ROWS))

    def steps(self, changes: int) -> tuple[Step, ...]:
        """Changes, and perhaps a restart before the last."""
        steps: list[Step] = [self._change() for _ in range(changes)]
        if self._chance(0.25):
            steps.insert(len(steps) - 1, Restart(self._chance(0.5)))
        return tuple(steps)

    def _chance(self, share: float) -> bool:
        return self.random.random() < share

    def _table(self, name: str, partitioned: bool) -> RandomTable:
        kinds = self._kinds()
        named = tuple((f"c{place}", kind) for place, kind in enumerate(kinds))
        identity = not partitioned and self._chance(0.25)
        key = "integer GENERATED ALWAYS AS IDENTITY" if identity else "integer"
        columns = [Column("id", f"{key}{' PRIMARY KEY' if self._chance(0.6) else ''}")]
        columns += [Column(column, f"{kind.name}{self._default(kind)}") for column, kind in named]
        computed = tuple(self._computed(named)) if Feature.GENERATED in self.features else ()
        columns += [
            Column(column, f"{kind.name} GENERATED ALWAYS AS ({text}) STORED")
            for column, kind, text in computed
        ]
        others = (*UNREAD, *UNSTORABLE) if Feature.UNREAD in self.features else UNREAD
        unread = [
            (f"u{place}", *column)
            for place, column in enumerate(self.random.sample(others, self.random.randint(0, 2)))
        ]
        columns += [Column(column, declared) for column, declared, _ in unread]
        if self._chance(0.3):
            self.random.shuffle(columns)
        tail, partitions, leaves = ("", (), ()) if not partitioned else self._partitions(name)
        table = Table(name, tuple(columns), tail, partitions)
        values = tuple((column, value) for column, _, value in unread)
        if Feature.VIEWS in self.features and self._chance(0.25):
            view = f"CREATE VIEW {name}_view AS SELECT * FROM {name}"
            table, leaves = replace(table, partitions=(*partitions, view)), (*leaves, f"{name}_view")
        late = Column("late", "integer GENERATED ALWAYS AS (id + 100) STORED")
        if Feature.GENERATED in self.features and not leaves and self._chance(0.25):
            # It comes when the table is captured already.
            captured = f"CREATE STANDING QUERY {name}_captured AS SELECT id FROM {name}"
            altered = f"ALTER TABLE {name} ADD COLUMN {late.name} {late.declaration}"
            table = replace(table, partitions=(*table.partitions, captured, altered))
            integer = next(kind for kind in KINDS if kind.name == "integer")
            computed = (*computed, (late.name, integer, "id + 100"))
        return RandomTable(table, named, tuple((c, k) for c, k, _ in computed), values, identity, leaves)

    def _kinds(self) -> list[Kind]:
        composed = [kind for kind in self.kinds if kind in COMPOSED]
        kinds = self.random.sample([kind for kind in self.kinds if kind not in COMPOSED], 3)
        kinds += self.random.sample(composed, 2)
        kinds += self.random.sample(kinds, 2)  # two columns of one kind, to be compared
        kinds.append(
            self.random.choice([kind for kind in self.kinds if kind.family in ("int", "text", "float")])
        )
        self.random.shuffle(kinds)
        return kinds

    def _default(self, kind: Kind) -> str:
        if not self._chance(0.15):
            return ""
        literal = kind.literal(self.random, self.features)
        is_newer = kind.family == "interval" and "infinity" in literal  # than PostgreSQL 16
        return "" if is_newer else f" DEFAULT {literal}"

    def _computed(self, named: Sequence[tuple[str, Kind]]) -> Iterator[tuple[str, Kind, str]]:
        for column, kind in named:
            if (
                kind.family in GENERATED
                and kind.name not in LIMITED
                and (kind.name != LARGE or Feature.NUMERIC_LARGE in self.features)
                and self._chance(0.3)
            ):
                name = {"date": "integer", "bpchar": "text", "text": "text", "numeric": "numeric"}.get(
                    kind.family
                )
                shown = next(candidate for candidate in KINDS if candidate.name == (name or kind.name))
                if shown.needs is None or shown.needs in self.features:
                    yield f"g{column[1:]}", shown, GENERATED[kind.family].format(c=column)

    def _partitions(self, name: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
        leaves = (f"{name}_a", f"{name}_b", f"{name}_c")
        of = f" PARTITION OF {name}"
        by_range = ("FOR VALUES FROM (MINVALUE) TO (5)", "FOR VALUES FROM (5) TO (9)", "DEFAULT")
        by_list = ("FOR VALUES IN (1, 2, 3, NULL)", "FOR VALUES IN (4, 5, 6, 15)", "DEFAULT")
        by_hash = tuple(f"FOR VALUES WITH (MODULUS 3, REMAINDER {place})" for place in range(3))
        method, bounds = self.random.choice((("RANGE", by_range), ("LIST", by_list), ("HASH", by_hash)))
        more: tuple[str, ...] = ()
        if method == "RANGE" and self._chance(0.4):
            by_range = (by_range[0], f"{by_range[1]} PARTITION BY HASH (id)", by_range[2])
            bounds, more = by_range, (f"{name}_d",)
        made = tuple(f"CREATE TABLE {leaf}{of} {bound}" for leaf, bound in zip(leaves, bounds, strict=True))
        below = f" PARTITION OF {name}_b FOR VALUES WITH (MODULUS 1, REMAINDER 0)"
        return (
            f" PARTITION BY {method} (id)",
            (*made, *(f"CREATE TABLE {leaf}{below}" for leaf in more)),
            (*leaves, *more),
        )

    def _insert(self, table: RandomTable) -> Insert:
        number = (max(table.ids) if table.ids else 0) + 1
        table.ids.append(number)
        values = [] if table.identity else [("id", str(number))]
        for column, kind in table.kinds:
            if "DEFAULT" in self._declaration(table, column) and self._chance(0.5):
                continue
            values.append((column, self._value(kind)))
        values += [pair for pair in table.unread if self._chance(0.7)]
        return Insert(table.table.name, tuple(values))

    def _declaration(self, table: RandomTable, column: str) -> str:
        return next(declared.declaration for declared in table.table.columns if declared.name == column)

    def _value(self, kind: Kind) -> str:
        if kind.name != "amount" and self._chance(NULL_SHARE):
            return "NULL"
        if kind.cast in ("text", "varchar") and self._chance(0.03):
            return LONG
        return kind.literal(self.random, self.features)

    def _change(self) -> Change:
        statements: list[Statement] = []
        for table in self.tables:
            statements += [self._statement(table) for _ in range(self.random.choice((1, 2, 3, 4)))]
        return Change(tuple(statements) or (self._statement(self.tables[0]),))

    def _statement(self, table: RandomTable) -> Statement:
        actions = (
            *(self._insert, self._insert, self._update, self._update, self._update, self._copy, self._delete),
            *(self._move, self._nothing, self._rare),
        )
        return self.random.choice(actions)(table)

    def _update(self, table: RandomTable) -> Statement:
        columns = self.random.sample(table.kinds, self.random.randint(1, 3))
        values = tuple((column, self._value(kind)) for column, kind in columns)
        return Update(table.table.name, values, f"id = {self.random.choice(table.ids)}")

    def _copy(self, table: RandomTable) -> Statement:
        return Update(table.table.name, (self._pair(table),), f"id % 3 = {self.random.randrange(3)}")

    def _delete(self, table: RandomTable) -> Statement:
        return Other(f"DELETE FROM {table.table.name} WHERE id = {self.random.choice(table.ids)}")

    def _move(self, table: RandomTable) -> Statement:
        """Another key, and perhaps another partition."""
        if table.identity:
            return self._nothing(table)
        number = self.random.choice(table.ids)
        table.ids.append(max(table.ids) + 1)
        return Update(table.table.name, (("id", str(table.ids[-1])),), f"id = {number}")

    def _nothing(self, table: RandomTable) -> Statement:
        """An update that changes no value."""
        column, _ = self.random.choice(table.kinds)
        return Update(table.table.name, ((column, column),), "true")

    def _rare(self, table: RandomTable) -> Statement:
        name = table.table.name
        self._altered += 1
        columns = ", ".join(column for column, _ in table.kinds)
        if table.identity:
            copied = f"INSERT INTO {name} ({columns}) SELECT {columns} FROM {name}"
        else:
            copied = (
                f"INSERT INTO {name} (id, {columns}) SELECT id + {100 * self._altered}, {columns} FROM {name}"
            )
        generated = [
            f"ALTER TABLE {name} ALTER COLUMN {column} DROP EXPRESSION IF EXISTS"
            for column, _ in table.computed
        ]
        if any(column == "late" for column, _ in table.computed):
            generated.append(NEWER.format(f"ALTER TABLE {name} ALTER COLUMN late SET EXPRESSION AS (id * 7)"))
        if Feature.GENERATED in self.features:
            added = f"x{self._altered} integer GENERATED ALWAYS AS (id * 2) STORED"
            generated.append(f"ALTER TABLE {name} ADD COLUMN {added}")
        undone = f"BEGIN DELETE FROM {name}; PERFORM 1 / 0; EXCEPTION WHEN division_by_zero THEN NULL; END"
        return Other(
            self.random.choice((
                *(f"TRUNCATE {name}", f"DELETE FROM {name}", copied, copied, f"DO $$ {undone} $$"),
                *(f"DELETE FROM {leave}" for leave in table.leaves[:1]),
                *(f"UPDATE {leave} SET id = id" for leave in table.leaves[1:2]),
                f"ALTER TABLE {name} ADD COLUMN x{self._altered} integer DEFAULT 5",
                f"ALTER TABLE {name} ADD COLUMN x{self._altered} text",
                *generated,
            ))
        )  # fmt: skip

    def _pair(self, table: RandomTable) -> tuple[str, str]:
        """Two columns of one kind, of which the one gets the other's values."""
        pairs = [(one, two) for one, a in table.kinds for two, b in table.kinds if a == b and one != two]
        return self.random.choice(pairs)
