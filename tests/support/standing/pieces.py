"""What random standing queries are put together from: columns, expressions, conditions and aggregates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Final

from tests.support.capture.random_rows import Readable
from tests.support.standing.cases import Free
from tests.support.standing.expressions import templates
from tests.support.standing.values import Feature, Kind

MIXED: Final = (
    frozenset(("int", "float", "numeric")),
    frozenset(("text", "bpchar", "name")),
    frozenset(("date", "timestamp", "timestamptz")),
    frozenset(("time", "timetz")),
)
"""Families whose types PostgreSQL brings to a common one."""


class Pieces:
    """A source of parts of queries over some tables."""

    def __init__(self, random: Random, tables: Sequence[Readable], features: frozenset[Feature]) -> None:
        self._random = random
        self._tables = tables
        self._features = features

    def _table(self) -> Readable:
        return self._random.choice(self._tables)

    def _column(self, table: Readable, *, ordered: bool = False) -> tuple[str, Kind]:
        columns = [column for column in table.columns if not (ordered and column[1].family == "json")]
        return self._random.choice(columns)

    def _expression(
        self, table: Readable, alias: str = "t", *, raising: bool = False, shown: bool = True
    ) -> str:
        return self._expression_of(table, alias, raising=raising, shown=shown)[0]

    def _expression_of(
        self, table: Readable, alias: str = "t", *, raising: bool = False, shown: bool = True
    ) -> tuple[str, str]:
        """An expression, and the family of the column that it is about."""
        column, kind = self._column(table)
        every = [
            template
            for template in templates(kind.family, self._features)
            if template.startswith("!") == raising
        ]
        if not every:
            return f"{alias}.{column}", kind.family
        if shown and not raising and self._random.random() < 0.12 and Feature.SCALE in self._features:
            return f"{alias}.{column}::{kind.cast}::text", kind.family
        template = self._random.choice(every).removeprefix("!")
        made = template.format(
            c=f"{alias}.{column}",
            d=self._like(table, alias, kind),
            l=kind.literal(self._random, self._features),
            i=self._of_family(table, alias, "int", "3"),
            t=self._of_family(table, alias, "text", "'a'::text"),
        )
        return f"({made})", kind.family

    def _like(self, table: Readable, alias: str, kind: Kind) -> str:
        return f"{alias}.{self._random.choice([name for name, other in table.columns if other == kind])}"

    def _of_family(self, table: Readable, alias: str, family: str, otherwise: str) -> str:
        columns = [name for name, kind in table.columns if kind.family == family]
        return (
            f"{alias}.{self._random.choice(columns)}"
            if columns and self._random.random() < 0.7
            else otherwise
        )

    def _condition(self, table: Readable, alias: str = "t") -> str:
        if self._random.random() < 0.25:
            return self._condition_of_expression(table, alias)
        column, kind = self._column(table, ordered=True)
        template = self._random.choice(
            (
                *(
                    "{c} = {l}",
                    "{c} = {l}",
                    "{c} <> {l}",
                    "{c} < {l}",
                    "{c} IN ({l}, {m})",
                    "{c} = ANY (ARRAY[{l}, {m}])",
                ),
                *(
                    "{c} IS NOT NULL",
                    "{c} IS DISTINCT FROM {l}",
                    "NOT {c} = {l}",
                    "{c} BETWEEN {l} AND {m}",
                    "{c} = {d}",
                ),
            )
        )
        first, second = (kind.literal(self._random, self._features) for _ in range(2))
        return template.format(c=f"{alias}.{column}", d=self._like(table, alias, kind), l=first, m=second)

    def _condition_of_expression(self, table: Readable, alias: str) -> str:
        one, other = self._expression(table, alias), self._expression(table, alias)
        return self._random.choice(
            (f"{one} IS NOT NULL", f"{one} IS NULL", f"{one} IS DISTINCT FROM {other}", one)
        )

    def _where(self, table: Readable, share: float, alias: str = "t") -> str:
        return f" WHERE {self._condition(table, alias)}" if self._random.random() < share else ""

    def _free(self, column: int, kind: Kind, expression: str, source: str) -> Iterator[Free]:
        if kind.spellings:
            yield Free(column, f"SELECT {expression}{source}")

    def _aggregate(self, table: Readable, alias: str = "t") -> tuple[str, str | None]:
        """An aggregate, and what its value is one of where equal values may be written differently."""
        name, kind = self._column(table, ordered=True)
        column = f"{alias}.{name}"
        if self._random.random() < 0.2 and kind.family != "array":
            made, family = self._expression_of(table, alias)
            if family != "array":
                return self._random.choice((f"array_agg({made} ORDER BY {alias}.id)", f"count({made})")), None
        texts = f"string_agg({column}::text, '|' ORDER BY {alias}.id)"
        calls = ["count(*)", f"count({column})", texts]
        if not (kind.family == "array" and kind.spellings) or Feature.EQUAL_ARRAYS in self._features:
            calls.append(f"count(DISTINCT {column})")
        if kind.family != "numeric" or Feature.SCALE in self._features:
            calls.append(f"array_agg({column} ORDER BY {alias}.id)")
        extremes = [f"min({column})", f"max({column})"]
        match kind.family:
            case "int" | "interval":
                calls += [f"sum({column})", f"avg({column})"] * 2
            case "numeric":
                shown = [f"sum({column})"] * 3
                calls += [*shown, f"avg({column})"] if Feature.SCALE in self._features else shown
            case "float" if kind.cast == "real" and Feature.REAL_SUM in self._features:
                calls += [f"sum({_tame(column)}::real)", f"avg({_tame(column)}::real)"]
            case "float" if kind.cast != "real":
                calls += [f"sum({_tame(column)})", f"avg({_tame(column)})"]
            case "bool":
                calls += [f"bool_and({column})", f"bool_or({column})", f"every({column})"]
        if kind.family not in ("bool", "uuid", "bytea", "jsonb", "name"):
            calls += extremes * 2
        call = self._random.choice(calls)
        if self._random.random() < 0.15 and not call.startswith("count(DISTINCT"):
            call += f" FILTER (WHERE {self._condition(table, alias)})"
        return call, column if kind.spellings and call.startswith(("min", "max")) else None

    def _partner(self, kind: Kind, table: Readable) -> tuple[str, Kind] | None:
        """A column that values of the kind are compared with, often one of another type."""
        families = next((mixed for mixed in MIXED if kind.family in mixed), frozenset((kind.family,)))
        like = [
            (name, other)
            for name, other in table.columns
            if other.family in families
            and (kind.family != "array" or other.cast == kind.cast)
            and not _conflict(kind, other)
        ]
        like = [candidate for candidate in like if candidate[1].family != "enum" or candidate[1] == kind]
        return self._random.choice(like) if like else None


def _conflict(first: Kind, second: Kind) -> bool:
    """Whether PostgreSQL cannot tell by which collation two columns are compared, which is an error."""
    collations = {_collation(kind) for kind in (first, second)} - {""}
    return len(collations) > 1


def _collation(kind: Kind) -> str:
    return '"C"' if kind.name == "name" else kind.name.partition("COLLATE ")[2]


def _tame(column: str) -> str:
    """Values whose sum is the same in every order."""
    return (
        f"CASE WHEN abs({column}) <= 4096 AND {column} <> 0 THEN round({column} * 8) / 8 + 0 "
        f"WHEN abs({column}) > 4096 AND abs({column}) < 'Infinity' THEN 0.5 ELSE {column} END"
    )
