"""Random SELECTs over random tables: joins of all kinds, nested and correlated subqueries, groups, set
operations.

Most are valid; PostgreSQL says which.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Final

from tests.support.planning.random_expressions import FAMILIES, Atom, RandomExpressions, Scope
from tests.support.planning.random_tables import RandomTable, RandomTables

AGGREGATES: Final = {
    "int": (
        "count(*)",
        "count({int})",
        "sum({int})::bigint",
        "min({int})",
        "max({int})",
        "count(DISTINCT {text})",
    ),
    "number": (
        "sum({number})",
        "avg({int})",
        "min({number})",
        "avg({number})",
        "sum(DISTINCT {number})",
        "max({number})",
    ),
    "float": ("sum({float})", "max({float})"),
    "text": ("min({text})", "max({text})", "string_agg({text}, '-' ORDER BY {again})"),
    "flag": ("bool_and({flag})", "bool_or({flag})", "every({flag})"),
    "day": ("min({day})", "max({day})"),
    "at": ("max({at})",),
    "span": ("sum({span})",),
}
JOINS: Final = ("JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN")
ORDERS: Final = ("", " DESC", " NULLS FIRST", " DESC NULLS LAST")
SETS: Final = ("UNION", "UNION ALL", "UNION ALL", "INTERSECT", "EXCEPT")
MEMBERSHIPS: Final = (
    "{} IN ({})",
    "{} NOT IN ({})",
    "{} = ANY ({})",
    "{} < ALL ({})",
    "{} <> ALL ({})",
    "{} > ANY ({})",
)


@dataclass(frozen=True)
class Relation:
    """A FROM item, and what it has."""

    sql: str
    atoms: tuple[Atom, ...]


@dataclass
class RandomQueries:
    """A source of queries; the aliases in one are unique."""

    random: Random
    tables: RandomTables

    def __post_init__(self) -> None:
        self.expressions = RandomExpressions(self.random, self._subquery)
        self.names = count()
        self.commons: list[tuple[str, tuple[str, ...]]] = []

    def query(self, depth: int = 2) -> str:
        """A query with its WITH clause."""
        self.names = count()
        self.commons = []
        parts: list[str] = []
        for _ in range(self.random.choice((0, 0, 0, 1, 2))):
            families = self._families()
            name = f"w{next(self.names)}"
            parts.append(f"{name} AS ({self._rows(families, None, depth - 1)})")
            self.commons.append((name, families))
        common = f"WITH {', '.join(parts)} " if parts else ""
        return common + self._rows(self._families(), None, depth)

    def _chance(self, share: float) -> bool:
        return self.random.random() < share

    def _families(self) -> tuple[str, ...]:
        return tuple(self.random.choices(tuple(AGGREGATES), k=self.random.randint(1, 3)))

    def _rows(self, families: Sequence[str], outer: Scope | None, depth: int) -> str:
        """A query of columns c0, c1, ... of these families."""
        if depth > 0 and self._chance(0.12):
            left, right = (self._rows(families, outer, depth - 1) for _ in range(2))
            sql = f"({left}) {self.random.choice(SETS)} ({right})"
        else:
            sql = self._select(families, outer, depth)
        if self._chance(0.85):
            return sql
        order = ", ".join(f"{place + 1}{self.random.choice(ORDERS)}" for place in range(len(families)))
        offset = " OFFSET 1" if self._chance(0.3) else ""
        return f"{sql} ORDER BY {order} LIMIT {self.random.randint(0, 9)}{offset}"

    def _select(self, families: Sequence[str], outer: Scope | None, depth: int) -> str:
        relation = self._sources(outer, depth)
        scope = Scope(relation.atoms, outer)
        where = f" WHERE {self.expressions.of('flag', scope, depth)}" if self._chance(0.45) else ""
        group = ""
        if self._chance(0.35):
            keys = self.random.sample(scope.atoms, self.random.randint(0, min(2, len(scope.atoms))))
            group = f" GROUP BY {', '.join(key.sql for key in keys)}" if keys else ""
            inside = scope if self._chance(0.1) else Scope(scope.atoms)
            aggregates = [self._aggregate(family, inside, depth - 1) for family in (*families, "int")]
            scope = Scope((*keys, *aggregates), outer)
            having = f" HAVING {self.expressions.of('flag', scope, depth - 1)}" if self._chance(0.3) else ""
            group = group + having if keys or having else " HAVING true"
        targets = [
            f"{self.expressions.of(family, scope, depth)} AS c{place}"
            for place, family in enumerate(families)
        ]
        distinct = "DISTINCT " if self._chance(0.12) else ""
        return f"SELECT {distinct}{', '.join(targets)} FROM {relation.sql}{where}{group}"

    def _aggregate(self, family: str, scope: Scope, depth: int) -> Atom:
        call = self.expressions.filled(self.random.choice(AGGREGATES[family]), family, scope, min(depth, 1))
        if self._chance(0.15) and not call.endswith("bigint"):
            call += f" FILTER (WHERE {self.expressions.of('flag', scope, 0)})"
        return Atom(f"({call})", family, is_column=False)

    def _sources(self, outer: Scope | None, depth: int) -> Relation:
        relation = self._source(outer, depth)
        for _ in range(self.random.choice((0, 0, 0, 1, 1, 2))):
            kind = self.random.choice(JOINS)
            lateral = kind in ("JOIN", "LEFT JOIN", "CROSS JOIN") and depth > 0 and self._chance(0.15)
            if lateral:
                other = self._derived(Scope(relation.atoms, outer), depth - 1, "LATERAL ")
            else:
                other = self._source(outer, depth - 1)
            condition = self._join_condition(kind, relation, other, depth)
            if condition is None:
                kind, condition = "CROSS JOIN", ""
            relation = Relation(f"{relation.sql} {kind} {other.sql}{condition}", relation.atoms + other.atoms)
        return relation

    def _join_condition(self, kind: str, left: Relation, right: Relation, depth: int) -> str | None:
        if kind == "CROSS JOIN":
            return None
        both = [(one, other) for one in left.atoms for other in right.atoms if one.family == other.family]
        keys = [(one, other) for one, other in both if one.key is not None and one.key == other.key]
        pairs = [f"{one.sql} = {other.sql}" for one, other in (keys if self._chance(0.6) and keys else both)]
        if kind == "FULL JOIN" or (pairs and self._chance(0.7)):
            equal = self.random.sample(pairs, min(len(pairs), self.random.choice((1, 1, 2))))
            if kind != "FULL JOIN" and self._chance(0.25):
                equal.append(self.expressions.of("flag", Scope(left.atoms + right.atoms), min(depth, 1)))
            return f" ON {' AND '.join(equal)}" if equal else None
        return f" ON {self.expressions.of('flag', Scope(left.atoms + right.atoms), min(depth, 1))}"

    def _source(self, outer: Scope | None, depth: int) -> Relation:
        if depth > 0 and self._chance(0.25):
            return self._derived(outer, depth - 1)
        alias = f"a{next(self.names)}"
        if self.commons and self._chance(0.35):
            name, families = self.random.choice(self.commons)
            return Relation(f"{name} AS {alias}", _atoms(alias, families))
        table = self.random.choice(self.tables.tables)
        return Relation(f"{table.qualified} AS {alias}", _columns(alias, table))

    def _derived(self, outer: Scope | None, depth: int, lateral: str = "") -> Relation:
        families = self._families()
        alias = f"a{next(self.names)}"
        return Relation(
            f"{lateral}({self._rows(families, outer, depth)}) AS {alias}", _atoms(alias, families)
        )

    def _subquery(self, family: str, scope: Scope, depth: int) -> str:
        if depth < 0:
            return self.expressions.of(family, scope, 0)
        if family != "flag" or self._chance(0.1):
            return self._value(family, scope, depth)
        if self._chance(0.4):
            return f"{self.random.choice(('', 'NOT '))}EXISTS ({self._rows(self._families(), scope, depth)})"
        compared = self.random.choice(("int", "int", "number", "text", "day"))
        rows = self._rows((compared,), scope, depth)
        return f"({self.random.choice(MEMBERSHIPS).format(self.expressions.of(compared, scope, 0), rows)})"

    def _value(self, family: str, scope: Scope, depth: int) -> str:
        """A subquery of at most one row: an aggregate, or what a key finds."""
        keyed = [table for table in self.tables.tables if table.key == 1]
        if keyed and self._chance(0.3):
            table = self.random.choice(keyed)
            alias = f"a{next(self.names)}"
            atoms = _columns(alias, table)
            found = self.expressions.of(family, Scope(atoms, scope), 0)
            key = self.expressions.of("int", scope, 0)
            return f"(SELECT {found} FROM {table.qualified} AS {alias} WHERE {atoms[0].sql} = {key})"
        relation = self._source(scope, depth)
        inside = Scope(relation.atoms, scope)
        where = f" WHERE {self.expressions.of('flag', inside, depth)}" if self._chance(0.7) else ""
        aggregate = self._aggregate(family, inside if self._chance(0.1) else Scope(inside.atoms), 0)
        return f"(SELECT {aggregate.sql} FROM {relation.sql}{where})"


def _columns(alias: str, table: RandomTable) -> tuple[Atom, ...]:
    keys = [
        table.name if place == 0 and table.key == 1 else column.parent
        for place, column in enumerate(table.columns)
    ]
    return tuple(
        Atom(f"{alias}.{column.name}", FAMILIES[column.kind.name], key=key)
        for column, key in zip(table.columns, keys, strict=True)
    )


def _atoms(alias: str, families: Sequence[str]) -> tuple[Atom, ...]:
    return tuple(Atom(f"{alias}.c{place}", family) for place, family in enumerate(families))
