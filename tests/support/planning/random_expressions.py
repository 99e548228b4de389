"""Random expressions and conditions over the columns of a scope; no error in data comes of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final

from tests.support.planning.random_tables import literal

FAMILIES: Final = {
    "integer": "int",
    "bigint": "int",
    "numeric(8,2)": "number",
    "numeric": "number",
    "double precision": "float",
    "text": "text",
    "varchar(4)": "text",
    "character(3)": "text",
    "boolean": "flag",
    "date": "day",
    "timestamp": "at",
    "interval": "span",
}
PATTERNS: Final = ("a%", "%b", "_", "%a_%", "", "%", "a\\_c", "_b\\%", "A%")
LITERALS: Final = {
    "int": ("0", "1", "2", "-3", "NULL::integer", "7::bigint"),
    "number": ("0.5", "1.50", "2::numeric", "-0.01", "NULL::numeric"),
    "float": ("0.5::float8", "2::float8", "'NaN'::float8"),
    "text": ("'a'::text", "'ab'::varchar", "''::text", "'Ab'::text", "NULL::text"),
    "flag": ("true", "false", "NULL::boolean"),
    "day": ("'2020-02-29'::date", "'2021-01-31'::date", "NULL::date"),
    "at": ("'2020-02-29 00:00:00'::timestamp", "'2021-03-31 12:00:00.25'::timestamp"),
    "span": ("'1 mon'::interval", "'1 day -01:00:00'::interval", "'1 year 2 mons'::interval"),
}
OPERATIONS: Final = {
    "int": (
        *(
            "{int} + {int}",
            "{int} - {int}",
            "{int} * {int}",
            "{int} / nullif({int}, 0)",
            "{int} % nullif({int}, 0)",
        ),
        *("abs({int})", "-{int}", "length({text})", "{day} - {day}", "extract(month FROM {day})::int"),
        *(
            "position({text} IN {text})",
            "round({number})::int",
            "{flag}::int",
            "mod({int}, 3)",
            "sign({number})::int",
        ),
    ),
    "number": (
        *("{number} + {number}", "{number} - {number}", "{number} * {int}", "{number} / nullif({number}, 0)"),
        *("round({number}, 1)", "trunc({number})", "{int}::numeric(30,3)", "{int} / 3.0", "abs({number})"),
        *(
            "floor({number})",
            "ceil({number})",
            "extract(epoch FROM {at})",
            "{number} % 1.5",
            "{number}::numeric(20,1)",
        ),
    ),
    "float": ("{float} + {float}", "{float} * 0.5::float8", "{int}::float8", "abs({float})", "-{float}"),
    "text": (
        *(
            "{text} || {text}",
            "upper({text})",
            "lower({text})",
            "substring({text}, 1, 2)",
            "left({text}, {int}::int)",
        ),
        *(
            "replace({text}, 'a', 'xy')",
            "btrim({text}, 'ab')",
            "{int}::text",
            "{day}::text",
            "lpad({text}, 3, '*')",
        ),
        *(
            "substring({text}, {int}::int)",
            "{text}::varchar(2)",
            "concat({text}, {int}, {flag})",
            "{text}::character(2)",
        ),
        *("rtrim({text})", "{flag}::text", "right({text}, 2)", "split_part({text}, 'b', 1)"),
    ),
    "day": (
        "{day} + 31",
        "{day} - 1",
        "({day} + {span})::date",
        "{at}::date",
        "make_date(2020, 2, 1) + {int}::int",
    ),
    "at": (
        "{at} + {span}",
        "{day} - {span}",
        "{day}::timestamp",
        "date_trunc('month', {at})",
        "{at} - {span}",
    ),
    "span": ("{at} - {at}", "{span} + {span}", "-{span}", "{span} * 2"),
}
SHAPES: Final = (
    *("CASE WHEN {flag} THEN {same} ELSE {same} END", "coalesce({same}, {same})", "nullif({same}, {same})"),
    *("greatest({same}, {same})", "least({same}, {same}, {same})", "CASE {int} WHEN 1 THEN {same} END"),
)
TESTS: Final = (
    *("{same} = {same}", "{same} = {same}", "{same} <> {same}", "{same} < {same}", "{same} >= {same}"),
    *(
        "{same} IS NULL",
        "{same} IS NOT NULL",
        "{same} IS DISTINCT FROM {same}",
        "{same} BETWEEN {same} AND {same}",
    ),
)
CONDITIONS: Final = (
    *("{flag} AND {flag}", "{flag} OR {flag}", "NOT {flag}", "{flag} IS TRUE", "{flag} IS NOT FALSE"),
    *(
        "{text} LIKE {pattern}",
        "{text} NOT LIKE {pattern}",
        "{text} ILIKE {pattern}",
        "{int} IN (1, 2, NULL)",
    ),
    *(
        "{int} NOT IN (0, 1)",
        "{text} IN ('a', 'ab')",
        "{int} = ANY (ARRAY[1, {int}])",
        "{text} LIKE 'a#%' ESCAPE '#'",
    ),
    *("{number} > ALL (ARRAY[0.5, {number}])", "({int}, {text}) = ({int}, {text})", "{int} < {number}"),
    *("({int}, {number}) < (1, {number})", "{number} = {int}", "{day} < {at}", "{float} < {number}"),
)
_TOKEN: Final = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Atom:
    """What an expression is made of: a column or, where there are groups, a key or an aggregate.

    `key` is the table whose key the column is or repeats.
    """

    sql: str
    family: str
    is_column: bool = True
    key: str | None = None


@dataclass(frozen=True)
class Scope:
    """The atoms that an expression may use, and those of the query around it."""

    atoms: tuple[Atom, ...]
    outer: Scope | None = None

    @property
    def around(self) -> tuple[Atom, ...]:
        """The columns of the queries around."""
        if self.outer is None:
            return ()
        return (*(atom for atom in self.outer.atoms if atom.is_column), *self.outer.around)


@dataclass(frozen=True)
class RandomExpressions:
    """Expressions of a family; `subquery` makes one of a family, its depth at most the one given."""

    random: Random
    subquery: Callable[[str, Scope, int], str]

    def of(self, family: str, scope: Scope, depth: int) -> str:
        """An expression of this family."""
        roll = self.random.random()
        if depth <= 0 or (family != "flag" and roll < 0.45):
            return self._leaf(family, scope)
        if roll > 0.9 or (family == "flag" and roll > 0.7):
            return self.subquery(family, scope, depth - 1)
        templates: tuple[str, ...] = SHAPES if roll < 0.6 else OPERATIONS.get(family, CONDITIONS)
        if family == "flag" and roll < 0.4:
            templates, family = TESTS, self.random.choice(tuple(LITERALS))
        return f"({self.filled(self.random.choice(templates), family, scope, depth - 1)})"

    def filled(self, template: str, family: str, scope: Scope, depth: int) -> str:
        """The template with expressions in its places: {same} of the family given, {again} the one before."""
        before = ""

        def fill(token: re.Match[str]) -> str:
            nonlocal before
            name = token[1]
            if name == "pattern":
                return literal(self.random.choice(PATTERNS))
            if name != "again":
                before = self.of(family if name == "same" else name, scope, depth)
            return before

        return _TOKEN.sub(fill, template)

    def _leaf(self, family: str, scope: Scope) -> str:
        here = [atom.sql for atom in scope.atoms if atom.family == family]
        around = [atom.sql for atom in scope.around if atom.family == family]
        if around and self.random.random() < 0.4:
            return self.random.choice(around)
        if here and self.random.random() < 0.85:
            return self.random.choice(here)
        if family == "flag":
            return f"({self.filled(self.random.choice(TESTS), 'int', scope, 0)})"
        return self.random.choice(LITERALS[family])
