"""Which values are sorted as PostgreSQL sorts them, and which orders are refused."""

from __future__ import annotations

import pytest

from catalog.errors import FeatureNotSupported
from catalog.postgres.signatures import TypeSignature
from catalog.postgres.storage import ListOf, Plain
from catalog.postgres.types import DATE, INTERVAL, JSONB, NO_COLLATION, NUMERIC, TEXT, TIMETZ, SqlType
from dialect.expressions.environment import Environment
from dialect.expressions.scalar import Extreme, Reference
from dialect.spark.expressions import is_exact
from dialect.spark.order import sort_key
from dialect.spark.rendered import Rendered

MOOD, MOODS, FEELING, NUMBERS = 90001, 90002, 90003, 1231
TYPES = {
    MOOD: TypeSignature(MOOD, "public", "mood", "e", "E", False, 0, MOODS, 0, 0),
    MOODS: TypeSignature(MOODS, "public", "_mood", "b", "A", False, MOOD, 0, 0, 0),
    FEELING: TypeSignature(FEELING, "public", "feeling", "d", "E", False, 0, 0, MOOD, 0),
    NUMBERS: TypeSignature(NUMBERS, "pg_catalog", "_numeric", "b", "A", False, NUMERIC, 0, 0, 0),
}


@pytest.mark.parametrize("oid", [MOOD, MOODS, FEELING, JSONB, TIMETZ])
def test_an_order_that_is_not_the_text_s_is_refused(oid: int) -> None:
    with pytest.raises(
        FeatureNotSupported, match=r"an order of values of type (mood|jsonb|time with time zone)"
    ):
        Environment(TYPES).check_sortable(SqlType(oid))


@pytest.mark.parametrize("oid", [NUMERIC, NUMBERS, TEXT, DATE, INTERVAL])
def test_other_values_can_be_sorted(oid: int) -> None:
    Environment(TYPES).check_sortable(SqlType(oid))


@pytest.mark.parametrize("oid", [MOOD, JSONB, TIMETZ])
def test_the_greatest_of_such_values_is_left_to_postgresql(oid: int) -> None:
    columns = (Reference(1, SqlType(oid)), Reference(2, SqlType(oid)))
    assert not is_exact(Extreme(True, columns, NO_COLLATION, SqlType(oid)), Environment(TYPES))


def test_an_array_is_stored_by_what_its_elements_are_made_of() -> None:
    assert Environment(TYPES).storage(SqlType(MOODS)) == ListOf(Plain.TEXT)


def test_null_comes_last_in_an_array() -> None:
    key = sort_key(Rendered("x.c1", ListOf(Plain.INT32)))
    assert key == "transform(x.c1, element -> named_struct('is_null', element IS NULL, 'value', element))"
