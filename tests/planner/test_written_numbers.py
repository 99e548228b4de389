"""Groups and sums of numerics as they are planned, and what is left to PostgreSQL: digits are its own."""

from __future__ import annotations

import re
from collections import Counter
from decimal import Decimal as Number
from functools import cache
from random import Random
from typing import Final

import pytest

from catalog.postgres.schema import TableName
from catalog.postgres.storage import FREE_NUMERIC, Decimal, Written
from catalog.postgres.types import NUMERIC, SqlType
from dialect.binding.canonical_text import read_query
from dialect.binding.query import QueryBinder
from dialect.binding.views import BoundViews
from dialect.expressions.environment import DEFAULT
from dialect.expressions.scalar import Call, Notation, Reference, Scalar
from dialect.spark.constants import numeric
from dialect.spark.expressions import render
from dialect.spark.rendered import Rendered
from executors.reference.evaluate import evaluate
from executors.reference.rows import computed
from executors.reference.values.values import Bag
from executors.spark.compile.subplan import compile_subplan, schemas_of
from planner.algebra.logical import LogicalQuery
from planner.algebra.statistics import Statistics
from planner.delta.derive import derive
from planner.delta.finish import Finished, finish
from planner.delta.methods import METHODS
from planner.explain.logical_text import text
from planner.optimise.optimise import optimise
from planner.translate.translate import translate
from planner.unnest.unnest import unnest
from tests.support.binding.cases import Snapshot, read_snapshot

_NO_VIEWS: Final = BoundViews({}, lambda _view, _others: pytest.fail("no view here"))


@cache
def snapshot() -> Snapshot:
    return read_snapshot()


def optimised(sql: str) -> LogicalQuery:
    known = snapshot()
    query = QueryBinder(known.signatures, known.tables, _NO_VIEWS).query(read_query(sql), None)
    return optimise(unnest(translate(query, known.tables)), known.tables, Statistics())


def finished(sql: str) -> Finished:
    return finish(optimised(sql))


def shape(sql: str) -> str:
    """The nodes of the plan without the numbers of columns, in one line."""
    return " / ".join(
        re.sub(r"#\d+", "", line.strip()) for line in text(finished(sql).query).splitlines()[1:]
    )


def test_a_group_of_equal_numbers_shows_the_most_digits() -> None:
    planned = shape("SELECT things.exact, count(*) FROM bound.things GROUP BY things.exact")
    assert "Project exact = round(exact, coalesce(digits, 0)), count / " in planned
    assert "Aggregate by exact: count = sum(count), digits = max(digits) / " in planned
    assert "Aggregate by exact, digits: count = count(*) / " in planned
    assert "Project exact, exact = trim_scale(exact) / Scan" in planned
    assert "Aggregate by exact: digits = max(" in shape("SELECT DISTINCT things.exact FROM bound.things")


def test_what_cannot_be_added_up_from_parts_is_worked_in_one_step() -> None:
    planned = shape("SELECT sum(things.exact), count(DISTINCT things.id) FROM bound.things")
    assert "digits = max(scale(case when " in planned
    assert " then null else exact end)), " in planned


def test_sums_show_the_digits_of_the_longest() -> None:
    planned = shape("SELECT sum(things.exact) FROM bound.things")
    assert "else round(sum, coalesce(digits, 0)) end / " in planned
    assert re.search(r"Aggregate: sum = sum\(sum\), .* / Aggregate by digits: sum = sum\(case when ", planned)


def test_what_is_no_number_is_counted() -> None:
    planned = shape("SELECT sum(things.exact) FROM bound.things")
    assert (
        "case when (upward > 0) and (downward > 0) then NaN when upward > 0 then Infinity "
        "when downward > 0 then -Infinity" in planned
    )
    product = shape("SELECT sum((things.exact * things.price)) FROM bound.things")
    assert "exact::float8 * price::float8" in product
    assert "price::text" not in product
    assert "upward" not in shape("SELECT sum(things.price), avg(things.price) FROM bound.things")


def test_numbers_that_are_too_long_are_gathered_where_a_sum_has_met_some() -> None:
    """Also those that are computed, of which no column tells."""
    query = optimised("SELECT sum((things.price / 3.0)) FROM bound.things")
    usual, long = (text(finish(query, long_numbers=long_numbers).query) for long_numbers in (False, True))
    assert "array_agg(" not in usual
    assert "numbers = array_agg(" in re.sub(r"#\d+", "", long)


def test_where_types_tell_the_digits_nothing_is_added() -> None:
    planned = shape(
        "SELECT things.price, sum(others.amount) FROM bound.things, bound.others GROUP BY things.price"
    )
    assert "digits" not in planned
    assert "round" not in planned


def test_digits_of_few_kinds_are_counted() -> None:
    case = "CASE WHEN things.flag THEN things.price ELSE (0)::numeric END"
    planned = shape(f"SELECT sum({case}) FROM bound.things")
    assert "round(sum, case when digits > 0 then 2 else 0 end)" in planned
    assert "digits = count(case when flag then price else null end)" in planned
    product = shape("SELECT sum((things.price * COALESCE(things.price, (0)::numeric))) FROM bound.things")
    assert "round(sum, case when digits > 0 then 4 else 2 end)" in product


@pytest.mark.parametrize(
    ("expression", "left"),
    [
        ("things.exact", False),
        ("(things.exact * things.price)", True),
        ("(things.price * things.price)", False),
        ("((things.price * things.price) * (things.price * things.price))", True),
        ("((things.price * things.price) * things.price)", False),
        ("round(things.exact, 2)", True),
        ("round(things.price, 1)", False),
        ("(things.exact)::text", False),
        ("(things.exact)::integer", True),
        ("COALESCE(things.exact, (0)::numeric)", False),
        ("(things.exact > (1)::numeric)", False),
        ("(1.0 / things.price)", True),
    ],
)
def test_what_may_have_too_many_digits_is_left_to_postgresql(expression: str, left: bool) -> None:
    [value] = finished(f"SELECT {expression} AS x FROM bound.things").values
    assert isinstance(value, Reference) is not left


@pytest.mark.parametrize(
    ("written", "storage", "shown"),
    [
        ("1.10", Decimal(3, 2), "'1.10'"),
        ("-0.00", Decimal(2, 2), "'0.00'"),
        ("1e3", Decimal(4, 0), "'1000'"),
        ("NaN", FREE_NUMERIC, "'NaN'"),
        ("-inf", FREE_NUMERIC, "'-Infinity'"),
        ("1e40", FREE_NUMERIC, f"'1{'0' * 40}'"),
        (f"2.5{'0' * 40}", FREE_NUMERIC, f"'2.5{'0' * 40}'"),
    ],
)
def test_constants_have_the_digits_that_they_are_written_with(
    written: str, storage: Decimal | Written, shown: str
) -> None:
    rendered = numeric(written)
    assert rendered.storage == storage
    assert shown in rendered.sql


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT things.exact, sum(things.exact), max(things.exact) FROM bound.things GROUP BY things.exact",
        "SELECT count(DISTINCT things.exact), sum(DISTINCT things.exact) FROM bound.things",
        "SELECT a.exact FROM (bound.things a JOIN bound.things b ON ((a.exact = b.price)))",
        "SELECT things.exact FROM bound.things UNION SELECT others.amount FROM bound.others",
        "SELECT things.exact FROM bound.things ORDER BY things.exact LIMIT 3",
    ],
)
def test_all_of_it_is_compiled(sql: str) -> None:
    plan = derive(finished(sql).query, METHODS, snapshot().tables)
    schemas = schemas_of(plan, DEFAULT)
    for subplan in plan.subplans:
        assert compile_subplan(subplan, schemas).sql


def test_numbers_of_any_scale_are_stored_with_their_text() -> None:
    assert DEFAULT.storage(SqlType(NUMERIC)) == FREE_NUMERIC
    assert DEFAULT.storage(SqlType(NUMERIC, (60 << 16 | 5) + 4)) == FREE_NUMERIC


SUMMED: Final = (
    "SELECT things.small, sum(things.exact), count(*), count(things.exact), min(things.whole), "
    "sum(things.whole), sum(things.id) FROM bound.things GROUP BY things.small",
    "SELECT sum(things.exact), count(*), count(things.exact), sum(things.small), max(things.exact) "
    "FROM bound.things",
    "SELECT sum(things.exact) FILTER (WHERE things.flag), avg(things.exact), "
    "sum((things.exact * things.price)) FROM bound.things",
    "SELECT sum(CASE WHEN things.flag THEN things.price ELSE (0)::numeric END), "
    "sum(COALESCE(things.price, (0)::numeric)) FROM bound.things",
    "SELECT trim_scale(things.exact), count(*), sum(things.price) FROM bound.things GROUP BY things.exact",
    "SELECT count(DISTINCT things.exact), sum(things.exact), sum(DISTINCT things.exact) FROM bound.things",
)


@pytest.mark.parametrize("sql", SUMMED)
@pytest.mark.parametrize("rows", [0, 1, 40])
def test_digits_are_those_of_the_definition(sql: str, rows: int) -> None:
    random = Random(rows)
    table = next(
        candidate for name, candidate in snapshot().tables.items() if name == TableName("bound", "things")
    )
    bag: Bag = Counter()
    for number in range(rows):
        values = {
            "id": number,
            "small": random.randrange(3),
            "whole": random.choice((None, 1, 2)),
            "price": random.choice((None, Number("1.50"), Number("0.00"))),
            "exact": random.choice((None, *map(Number, ("1.5", "1.50", "2", "0.125", "2.000")))),
            "flag": random.choice((None, True, False)),
        }
        bag[tuple(values.get(column.name) for column in table.columns)] += 1
    contents = {TableName("bound", "things"): bag}
    query = optimised(sql)
    done = finish(query)
    columns = [output.column for output in done.query.outputs]
    found = Counter[str]()
    for row, count in evaluate(done.query, contents).items():
        found[str(computed(done.values, dict(zip(columns, row, strict=True))))] += count
    expected = Counter({str(row): count for row, count in evaluate(query, contents).items()})
    assert found == expected


def test_a_chain_of_calculations_is_written_once() -> None:
    columns = {number: Rendered(f"x.c{number}", FREE_NUMERIC) for number in range(12)}
    numeric_type = SqlType(NUMERIC)
    for function, name in ((1726, "*"), (1727, "/"), (1724, "+")):

        def length(factors: int, function: int = function, name: str = name) -> int:
            chain: Scalar = Reference(0, numeric_type)
            for number in range(1, factors):
                arguments = (chain, Reference(number, numeric_type))
                chain = Call(function, name, Notation.OPERATOR, arguments, 0, numeric_type)
            return len(render(chain, columns).sql)

        assert length(12) < 6 * length(3), name
