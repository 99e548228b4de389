"""Queries of one shape in any size, as PostgreSQL writes them in a view, and the tables that they read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from catalog.postgres.schema import Column, ForeignKey, Table, TableName, Tables
from catalog.postgres.signatures import Signatures
from catalog.postgres.types import INT4, SqlType
from dialect.binding.bind import bind
from dialect.bound.query import Query

INTEGER: Final = SqlType(INT4)
MOST_TABLES: Final = 200


def _table(number: int) -> Table:
    """t0, t1, …: the column a refers to the next table."""
    columns = ("id", "a", "b", "c")
    return Table(
        TableName("public", f"t{number}"),
        tuple(
            Column(name, INTEGER, name not in ("id", "a"), place + 1) for place, name in enumerate(columns)
        ),
        (("id",),),
        (ForeignKey(("a",), TableName("public", f"t{number + 1}"), ("id",)),),
    )


WIDE: Final = Table(
    TableName("public", "wide"),
    (
        Column("id", INTEGER, nullable=False, attribute=1),
        *(Column(f"k{number}", INTEGER, attribute=number + 2) for number in range(MOST_TABLES)),
    ),
    (("id",),),
)
TABLES: Final[Tables] = {table.name: table for table in (WIDE, *map(_table, range(MOST_TABLES)))}


@dataclass(frozen=True, slots=True)
class Shape:
    """What a query of this size looks like, and the sizes that are compared."""

    text: Callable[[int], str]
    size: int
    columns: Callable[[int], Iterable[str]] = lambda _size: ("id",)

    def bound(self, size: int, signatures: Signatures) -> Query:
        """The query of this size, bound."""
        columns = tuple(Column(name, INTEGER) for name in self.columns(size))
        return bind(self.text(size), TABLES, signatures, columns)


def _joined(first: str, joins: Iterable[tuple[str, str]], word: str = "JOIN") -> str:
    text = first
    for table, condition in joins:
        text = f"({text} {word} {table} ON ({condition}))"
    return text


def _chain(size: int, word: str = "JOIN") -> str:
    joins = ((f"public.t{number}", f"(t{number - 1}.a = t{number}.id)") for number in range(1, size))
    return f"SELECT t0.id FROM {_joined('public.t0', joins, word)} WHERE (t0.b = 5)"


def _chain_without_keys(size: int) -> str:
    joins = ((f"public.t{number}", f"(t{number - 1}.b = t{number}.c)") for number in range(1, size))
    return f"SELECT t0.id FROM {_joined('public.t0', joins)}"


def _star(size: int) -> str:
    joins = ((f"public.t{number}", f"(wide.k{number} = t{number}.id)") for number in range(1, size))
    return f"SELECT wide.id FROM {_joined('public.wide', joins)}"


def _self_joins(size: int) -> str:
    joins = ((f"public.t0 x{number}", f"(x{number}.id = x{number - 1}.a)") for number in range(1, size))
    return f"SELECT x0.id FROM {_joined('public.t0 x0', joins)}"


def _wide(size: int) -> str:
    joins = ((f"public.wide w{number}", f"(w{number - 1}.k1 = w{number}.id)") for number in range(1, size))
    columns = ", ".join(f"w{number % size}.k{number} AS c{number}" for number in range(100))
    return f"SELECT {columns} FROM {_joined('public.wide w0', joins)}"


def _subqueries(size: int) -> str:
    text = "SELECT t0.id, t0.a FROM public.t0"
    for number in range(size):
        name = f"s{number}"
        text = f"SELECT {name}.id, ({name}.a + 1) AS a FROM ({text}) {name} WHERE ({name}.id <> {number})"
    return f"SELECT s.id FROM ({text}) s"


def _scalars(size: int) -> str:
    values = (f"( SELECT t{n}.c FROM public.t{n} WHERE (t{n}.b = t0.a)) AS s{n}" for n in range(1, size))
    return f"SELECT t0.id, {', '.join(values)} FROM public.t0"


def _nested_scalars(size: int) -> str:
    value = "t0.a"
    for number in range(1, size):
        value = f"( SELECT t{number}.a FROM public.t{number} WHERE (t{number}.b = {value}))"
    return f"SELECT t0.id FROM public.t0 WHERE (t0.c = {value})"


def _exists(size: int) -> str:
    tests = (f"(EXISTS ( SELECT 1 FROM public.t{n} WHERE (t{n}.b = t0.a)))" for n in range(1, size))
    return f"SELECT t0.id FROM public.t0 WHERE ({' OR '.join(tests)})"


def _case(size: int) -> str:
    branches = " ".join(f"WHEN (t0.a = {number}) THEN {number + 1}" for number in range(size))
    return f"SELECT CASE {branches} ELSE 0 END AS id FROM public.t0"


def _list(size: int) -> str:
    return f"SELECT t0.id FROM public.t0 WHERE (t0.a = ANY (ARRAY[{', '.join(map(str, range(size)))}]))"


def _union(size: int) -> str:
    return " UNION ALL ".join(f"SELECT t{n}.id FROM public.t{n} WHERE (t{n}.b = {n})" for n in range(size))


def _references(size: int) -> str:
    joins = ((f"c c{number}", f"(c{number}.id = c{number - 1}.a)") for number in range(1, size))
    common = "SELECT t0.id, max(t0.a) AS a FROM public.t0 GROUP BY t0.id"
    return f"WITH c AS ({common}) SELECT c0.id FROM {_joined('c c0', joins)}"


SHAPES: Final[Mapping[str, Shape]] = {
    "chain of joins": Shape(_chain, 25),
    "chain of joins without keys": Shape(_chain_without_keys, 25),
    "chain of left joins": Shape(lambda size: _chain(size, "LEFT JOIN"), 25),
    "star": Shape(_star, 25),
    "a table joined with itself": Shape(_self_joins, 25),
    "joins of wide tables": Shape(_wide, 25, lambda _size: [f"c{number}" for number in range(100)]),
    "subqueries inside each other": Shape(_subqueries, 25),
    "scalar subqueries": Shape(_scalars, 20, lambda size: ["id", *(f"s{n}" for n in range(1, size))]),
    "scalar subqueries inside each other": Shape(_nested_scalars, 10),
    "EXISTS": Shape(_exists, 25),
    "branches of a CASE": Shape(_case, 100),
    "values of an IN list": Shape(_list, 250),
    "branches of a UNION ALL": Shape(_union, 30),
    "references to a WITH query": Shape(_references, 20),
}


def every_pair(size: int) -> str:
    """Each table compared with each other one: the text itself grows as the square, planning with more."""
    tables = ", ".join(f"public.t{number}" for number in range(size))
    pairs = (f"(t{one}.a < t{other}.b)" for one in range(size) for other in range(one))
    return f"SELECT t0.id FROM {tables} WHERE ({' AND '.join(pairs)})"


def _each_by_the_one_before(size: int) -> str:
    """Every value is looked up by the one before it and may fail on a second row: each copies all before."""
    text = "public.t0"
    for number in range(1, size):
        before = "t0" if number == 1 else f"l{number - 1}"
        value = f"( SELECT x.a FROM public.t{number} x WHERE (x.b = {before}.a))"
        text = f"({text} CROSS JOIN LATERAL ( SELECT {value} AS a) l{number})"
    return f"SELECT t0.id FROM {text}"


TOO_LARGE: Final[Mapping[str, Shape]] = {"lookups by the one before": Shape(_each_by_the_one_before, 40)}
