"""Every expression of every type over all of its edge values: not by chance, one case for each type."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from random import Random
from typing import Final

from tests.support.standing.cases import Case, Change, Column, Free, Insert, Query, Table, Update
from tests.support.standing.composed_types import PRELUDE
from tests.support.standing.expressions import templates
from tests.support.standing.kinds import KINDS
from tests.support.standing.values import Feature, Kind, quoted

TARGETS: Final = 8
_SOURCE: Final = " FROM t"


def sweep(features: frozenset[Feature]) -> Iterator[Case]:
    """A case for each kind that the features allow."""
    for kind in KINDS:
        if kind.needs is None or kind.needs in features:
            yield _case(kind, features)


def _case(kind: Kind, features: frozenset[Feature]) -> Case:
    columns = (
        Column("id", "integer PRIMARY KEY"),
        *(Column(name, kind.name) for name in ("c", "d")),
        Column("i", "integer"),
        Column("s", "text"),
    )
    queries = (*_queries(kind, features), *_groups(kind, features))
    exchanged = Update("t", (("c", "d"), ("d", "c")), "true")  # so that all values come as changes too
    steps = (Change((exchanged,)),)
    return Case(kind.name, (Table("t", columns),), tuple(_rows(kind, features)), queries, steps, PRELUDE)


def _rows(kind: Kind, features: frozenset[Feature]) -> Iterator[Insert]:
    literals = [quoted(text, kind.cast) for text in kind.texts(features)]
    if kind.name != "amount":
        literals.append("NULL")
    for number, literal in enumerate(literals):
        other = literals[(number * 2 + 1) % len(literals)]
        values = (("id", f"{number}"), ("c", literal), ("d", other), ("i", f"{number % 3}"), ("s", "'a'"))
        yield Insert("t", values)


def _queries(kind: Kind, features: frozenset[Feature]) -> Iterator[Query]:
    random = Random(kind.name)
    every = dict.fromkeys(templates(kind.family, features))
    sound = iter(
        [_filled(kind, template, random, features) for template in every if not template.startswith("!")]
    )
    if kind.family != "array":
        yield from _gathered(kind, features)
    number = 0
    while targets := tuple(islice(sound, TARGETS)):
        named = (f"{target} AS e{place}" for place, target in enumerate(targets, 1))
        yield Query(f"q{number}", ("t.id AS e0", *named), _SOURCE)
        number += 1
    for place, template in enumerate(template for template in every if template.startswith("!")):
        target = _filled(kind, template[1:], random, features)
        yield Query(f"r{place}", ("t.id AS e0", f"{target} AS e1"), f"{_SOURCE} WHERE t.id % 4 = {place % 4}")


def _gathered(kind: Kind, features: frozenset[Feature]) -> Iterator[Query]:
    """The same expressions where they are computed before they are aggregated."""
    random = Random(kind.name)
    every = dict.fromkeys(templates(kind.family, features))
    sound = iter(
        [_filled(kind, template, random, features) for template in every if not template.startswith("!")]
    )
    number = 0
    while targets := tuple(islice(sound, TARGETS)):
        named = (f"array_agg({target} ORDER BY t.id) AS e{place}" for place, target in enumerate(targets))
        yield Query(f"a{number}", tuple(named), _SOURCE)
        number += 1


def _filled(kind: Kind, template: str, random: Random, features: frozenset[Feature]) -> str:
    literal = kind.literal(random, features)
    return template.format(c="t.c", d="t.d", l=literal, i="t.i", t="t.s")


def _groups(kind: Kind, features: frozenset[Feature]) -> Iterator[Query]:
    if kind.family == "json":
        return
    free = (Free(0, f"SELECT t.c{_SOURCE}"),) if kind.spellings else ()
    both = (Free(0, f"SELECT t.c{_SOURCE} UNION ALL SELECT t.d{_SOURCE}"),) if kind.spellings else ()
    grouped = ("t.c", "count(*) AS n", "array_agg(t.id ORDER BY t.id) AS ids")
    yield Query("g1", grouped, f"{_SOURCE} GROUP BY t.c", free)
    yield Query("g2", ("t.c",), f"{_SOURCE} UNION SELECT t.d{_SOURCE}", both)
    yield Query("g3", ("t.c",), f"{_SOURCE} EXCEPT SELECT t.d{_SOURCE} WHERE t.id > 2", both)
    yield Query("g4", ("t.id AS a", "u.id AS b", "t.c"), " FROM t JOIN t u ON t.c = u.d")
    yield Query("g5", ("t.id", "t.c"), " FROM t ORDER BY t.c DESC NULLS LAST, t.id LIMIT 4")
    texts = "string_agg(t.c::text, '|' ORDER BY t.id) AS texts"
    if not (kind.family == "array" and kind.spellings) or Feature.EQUAL_ARRAYS in features:
        yield Query("g6", ("count(DISTINCT t.c) AS n", "count(t.c) AS m", texts), _SOURCE)
    others = "SELECT u.d FROM t u WHERE u.d IS NOT NULL AND u.id < 3"
    yield Query("g7", ("t.id", "t.c"), f"{_SOURCE} WHERE t.c NOT IN ({others})")
    if kind.family not in ("bool", "uuid", "bytea", "jsonb", "name"):
        extremes = (
            (Free(1, f"SELECT t.c{_SOURCE}"), Free(2, f"SELECT t.c{_SOURCE}")) if kind.spellings else ()
        )
        yield Query(
            "g8", ("t.i", "min(t.c) AS least", "max(t.c) AS most"), f"{_SOURCE} GROUP BY t.i", extremes
        )
