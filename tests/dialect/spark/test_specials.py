"""The SQL of what may be NaN or infinite: long only where there may be such a value."""

from __future__ import annotations

from itertools import pairwise

from catalog.postgres.storage import FREE_NUMERIC, Decimal, Plain, Written
from catalog.postgres.types import INT8, INTERVAL, NUMERIC, SqlType
from dialect.expressions.environment import Environment
from dialect.expressions.scalar import Call, Cast, CastMethod, Notation, Reference, Scalar
from dialect.spark.expressions import is_exact, render
from dialect.spark.rendered import Rendered

USUAL, WIDE = SqlType(NUMERIC), SqlType(NUMERIC, wide=True)
COLUMNS = {1: Rendered("c1", FREE_NUMERIC), 2: Rendered("c2", Written(Decimal(8, 2)))}
ROUND, REMAINDER, INT8_OF_NUMERIC, MINUS_INTERVAL = 1708, 1728, 1779, 1168


def call(function: int, *arguments: Scalar) -> Call:
    return Call(function, "f", Notation.FUNCTION, arguments, 0, arguments[0].type)


def test_what_is_never_special_is_rounded_as_a_decimal() -> None:
    usual = render(call(ROUND, Reference(1, USUAL)), COLUMNS)
    assert isinstance(usual.storage, Decimal)
    assert isinstance(render(call(ROUND, Reference(1, WIDE)), COLUMNS).storage, Written)
    assert "NaN" not in usual.sql


def test_an_integer_is_refused_by_name_where_there_may_be_nan() -> None:
    for type_, refused in ((USUAL, False), (WIDE, True)):
        cast = Cast(Reference(1, type_), CastMethod.FUNCTION, INT8_OF_NUMERIC, SqlType(INT8))
        assert ("cannot convert NaN to bigint" in render(cast, COLUMNS).sql) is refused


def test_remainders_of_remainders_grow_by_their_sum() -> None:
    value: Scalar = Reference(1, WIDE)
    lengths = []
    for _ in range(6):
        value = call(REMAINDER, value, Reference(2, WIDE))
        lengths.append(len(render(value, COLUMNS).sql))
    steps = [longer - shorter for shorter, longer in pairwise(lengths[1:])]
    assert max(steps) < 1.2 * min(steps)


def test_before_infinite_intervals_postgresql_computes_with_the_largest() -> None:
    minus = call(MINUS_INTERVAL, Reference(3, SqlType(INTERVAL)))
    columns, before = {3: Rendered("c3", Plain.INTERVAL)}, Environment(infinite_intervals=False)
    assert is_exact(minus)
    assert not is_exact(minus, before)
    assert len(render(minus, columns, before).sql) > len(render(minus, columns).sql)
