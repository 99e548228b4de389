"""Random standing queries that show much of each type: expressions, groups, sets and joins at the surface."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Final

from tests.support.capture.random_rows import Readable
from tests.support.standing.cases import Free, Query
from tests.support.standing.pieces import Pieces
from tests.support.standing.values import Feature

CASTS: Final = (
    *(
        "smallint",
        "integer",
        "bigint",
        "real",
        "double precision",
        "numeric",
        "numeric(12,3)",
        "text",
        "varchar(4)",
        "char(3)",
    ),
    *(
        "boolean",
        "date",
        "timestamp",
        "time",
        "interval",
        "jsonb",
        "bytea",
        "uuid",
        "name",
        "timestamptz",
        "text[]",
        "oid",
    ),
)
SETS: Final = ("UNION", "UNION", "UNION ALL", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL")

_ORDERS: Final = ("", " DESC", " NULLS FIRST", " DESC NULLS LAST")


class Surfaces(Pieces):
    """A source of queries over some tables."""

    def __init__(self, random: Random, tables: Sequence[Readable], features: frozenset[Feature]) -> None:
        super().__init__(random, tables, features)
        self._number = 0

    def query(self) -> Query:
        """The next query."""
        shapes: tuple[Callable[[], Query], ...] = (
            *(
                self._projection,
                self._projection,
                self._projection,
                self._filter,
                self._group,
                self._group,
                self._group,
            ),
            *(self._distinct, self._set, self._set, self._join, self._membership, self._ordered, self._whole),
            *(self._nested, self._values, self._keyed_by_expression, self._keyed_by_expression),
            *(self._gathered, self._gathered, self._distinct_rows),
        )
        shape = self._random.choice(shapes)
        if Feature.ERRORS in self._features and self._random.random() < 0.1:
            shape = self._random.choice((self._raising, self._cast))
        self._number += 1
        return shape()

    @property
    def _name(self) -> str:
        return f"q{self._number}"

    def _projection(self) -> Query:
        table = self._table()
        targets = ["t.id", *(self._expression(table) for _ in range(self._random.randint(4, 10)))]
        return self._numbered(targets, f" FROM {table.name} t{self._where(table, 0.2)}")

    def _numbered(
        self, targets: Sequence[str], rest: str, free: Sequence[Free] = (), head: str = "SELECT "
    ) -> Query:
        named = tuple(f"{target} AS e{place}" for place, target in enumerate(targets))
        return Query(self._name, named, rest, tuple(free), head)

    def _raising(self) -> Query:
        """An expression that some value has no result for; few rows, so that errors come and go."""
        table = self._table()
        rest = f" FROM {table.name} t WHERE t.id % 4 = {self._random.randrange(4)}"
        return self._numbered(["t.id", self._expression(table, raising=True)], rest)

    def _filter(self) -> Query:
        table = self._table()
        columns = [f"t.{name}" for name, _ in table.columns]
        return self._numbered(["t.id", *columns], f" FROM {table.name} t WHERE {self._condition(table)}")

    def _group(self) -> Query:
        table = self._table()
        keys = self._random.sample(
            [column for column in table.columns if column[1].family != "json"], self._random.choice((1, 1, 2))
        )
        source = f" FROM {table.name} t{self._where(table, 0.2)}"
        targets = [f"t.{name}" for name, _ in keys]
        free = [
            expression
            for place, (name, kind) in enumerate(keys)
            for expression in self._free(place, kind, f"t.{name}", source)
        ]
        for _ in range(self._random.randint(3, 6)):
            target, witness = self._aggregate(table)
            if witness is not None:
                free.append(Free(len(targets), f"SELECT {witness}{source}"))
            targets.append(target)
        having = self._random.choice(("", "", "", " HAVING count(*) > 1"))
        return self._numbered(
            targets, f"{source} GROUP BY {', '.join(f't.{name}' for name, _ in keys)}{having}", free
        )

    def _keyed_by_expression(self) -> Query:
        """Groups of an expression, which shows one of the values that are equal."""
        table = self._table()
        key = self._expression(table)
        source = f" FROM {table.name} t{self._where(table, 0.2)}"
        ids = "string_agg(t.id::text, ' ' ORDER BY t.id)"
        free = (Free(0, f"SELECT {key}{source}"),)
        return self._numbered([key, "count(*)", ids], f"{source} GROUP BY {key}", free)

    def _gathered(self) -> Query:
        """Expressions that are computed before they are aggregated, each with all its values in one row."""
        table = self._table()
        targets = [
            f"array_agg({expression} ORDER BY t.id)" if family != "array" else f"count({expression})"
            for expression, family in (self._expression_of(table) for _ in range(self._random.randint(3, 6)))
        ]
        return self._numbered(targets, f" FROM {table.name} t{self._where(table, 0.3)}")

    def _distinct_rows(self) -> Query:
        """Rows of a subquery of distinct rows, by an expression of it."""
        table = self._table()
        column, kind = self._column(table, ordered=True)
        made, value = self._expression(table), self._expression(table)
        inner = f"SELECT DISTINCT t.id, {made} AS made, {value} AS value FROM {table.name} t"
        condition = self._random.choice(("s.made IS NOT NULL", "s.value IS NULL", f"u.{column} IS NOT NULL"))
        rest = f" FROM ({inner}) s JOIN {table.name} u ON u.id = s.id WHERE {condition}"
        shown = f"u.{column}" if kind.family != "json" else "u.id"
        return self._numbered(["s.id", "s.made", "s.value", shown], rest)

    def _whole(self) -> Query:
        table = self._table()
        source = f" FROM {table.name} t{self._where(table, 0.3)}"
        pairs = [self._aggregate(table) for _ in range(self._random.randint(2, 6))]
        free = [
            Free(place, f"SELECT {witness}{source}") for place, (_, witness) in enumerate(pairs) if witness
        ]
        return self._numbered([target for target, _ in pairs], source, free)

    def _distinct(self) -> Query:
        table = self._table()
        columns = self._random.sample(
            [column for column in table.columns if column[1].family != "json"], self._random.choice((1, 2))
        )
        source = f" FROM {table.name} t{self._where(table, 0.3)}"
        free = [
            expression
            for place, (name, kind) in enumerate(columns)
            for expression in self._free(place, kind, f"t.{name}", source)
        ]
        return self._numbered([f"t.{name}" for name, _ in columns], source, free, "SELECT DISTINCT ")

    def _set(self) -> Query:
        left, right = self._table(), self._table()
        column, kind = self._column(left, ordered=True)
        partner = self._partner(kind, right)
        if partner is None or kind.family in ("json",):
            return self._distinct()
        other, other_kind = partner
        word = self._random.choice(SETS)
        sides = (
            f" FROM {left.name} t{self._where(left, 0.3)}",
            f" FROM {right.name} u{self._where(right, 0.3, 'u')}",
        )
        mixed = kind != other_kind
        witness = f"SELECT t.{column}{sides[0]} UNION ALL SELECT u.{other}{sides[1]}"
        free = (
            [Free(0, witness)]
            if (kind.spellings or other_kind.spellings or mixed) and word != "UNION ALL"
            else []
        )
        rest = f"{sides[0]} {word} SELECT u.{other}{sides[1]}"
        return self._numbered([f"t.{column}"], rest, free)

    def _join(self) -> Query:
        left, right = self._table(), self._table()
        column, kind = self._column(left, ordered=True)
        partner = self._partner(kind, right) or ("id", kind)
        mine = column if partner[0] != "id" else "id"
        word = self._random.choice(("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"))
        targets = ["t.id", "u.id", f"t.{column}", f"u.{partner[0]}"]
        targets += [self._expression(left, "t"), self._expression(right, "u")]
        return self._numbered(
            targets, f" FROM {left.name} t {word} {right.name} u ON t.{mine} = u.{partner[0]}"
        )

    def _membership(self) -> Query:
        left, right = self._table(), self._table()
        column, kind = self._column(left, ordered=True)
        partner = self._partner(kind, right) or (column, kind)
        rows = (
            f"SELECT u.{partner[0]} FROM {right.name} u"
            if partner[0] != column
            else f"SELECT v.{column} FROM {left.name} v"
        )
        inner = (
            f"{right.name} u WHERE u.{partner[0]}"
            if partner[0] != column
            else f"{left.name} u WHERE u.{column}"
        )
        condition = self._random.choice(
            (
                *(
                    f"t.{column} IN ({rows})",
                    f"t.{column} NOT IN ({rows})",
                    f"t.{column} < ALL ({rows})",
                    f"t.{column} = ANY ({rows})",
                ),
                *(
                    f"EXISTS (SELECT 1 FROM {inner} = t.{column})",
                    f"NOT EXISTS (SELECT 1 FROM {inner} = t.{column} AND u.id <> t.id)",
                ),
            )
        )
        return self._numbered(["t.id", f"t.{column}"], f" FROM {left.name} t WHERE {condition}")

    def _ordered(self) -> Query:
        table = self._table()
        name, _ = self._column(table, ordered=True)
        order = f"t.{name}{self._random.choice(_ORDERS)}, t.id"
        limit = f"LIMIT {self._random.randint(1, 8)}{self._random.choice(('', ' OFFSET 2'))}"
        return self._numbered(["t.id", f"t.{name}"], f" FROM {table.name} t ORDER BY {order} {limit}")

    def _nested(self) -> Query:
        """Groups of groups, and values of a correlated subquery."""
        table, other = self._table(), self._table()
        column, kind = self._column(table, ordered=True)
        if self._random.random() < 0.5 and not kind.spellings:
            inner = f"(SELECT t.{column} AS k, count(*) AS n FROM {table.name} t GROUP BY t.{column}) g"
            return self._numbered(["g.n", "count(*)", "count(g.k)"], f" FROM {inner} GROUP BY g.n")
        call, witness = self._aggregate(other, "u")
        if witness is not None:
            call = "count(*)"
        return self._numbered(
            ["t.id", f"(SELECT {call} FROM {other.name} u WHERE u.id <= t.id)"], f" FROM {table.name} t"
        )

    def _values(self) -> Query:
        """Literals beside the table's own values."""
        table = self._table()
        column, kind = self._column(table)
        literals = ", ".join(f"({place}, {kind.literal(self._random, self._features)})" for place in range(3))
        rest = f" FROM {table.name} t UNION ALL SELECT v.* FROM (VALUES {literals}) v"
        return self._numbered(["t.id", f"t.{column}"], rest)

    def _cast(self) -> Query:
        """A column of a few rows as another type, which may raise."""
        table = self._table()
        column, _ = self._column(table)
        rest = f" FROM {table.name} t WHERE t.id % 4 = {self._random.randrange(4)}"
        casts = [cast for cast in CASTS if Feature.SCALE in self._features or cast != "numeric"]
        casts = [cast for cast in casts if Feature.PADDING in self._features or not cast.startswith("char(")]
        return self._numbered(["t.id", f"t.{column}::{self._random.choice(casts)}"], rest)
