"""Types with their modifiers, as PostgreSQL's format_type writes them."""

from __future__ import annotations

import pytest

from catalog.postgres.types import (
    BPCHAR,
    INT4,
    NUMERIC,
    TIMESTAMP,
    VARCHAR,
    SqlType,
    numeric_digits,
    written_type,
)

CASES = {
    SqlType(INT4): "int4",
    SqlType(NUMERIC): "numeric",
    SqlType(NUMERIC, 655366): "numeric(10,2)",
    SqlType(NUMERIC, 329730): "numeric(5,-2)",
    SqlType(NUMERIC, 131081): "numeric(2,5)",
    SqlType(VARCHAR, 14): "varchar(10)",
    SqlType(BPCHAR, 5): "bpchar(1)",
    SqlType(TIMESTAMP, 3): "timestamp(3)",
    SqlType(16385): "type 16385",
}


@pytest.mark.parametrize(("type", "text"), CASES.items(), ids=CASES.values())
def test_a_type_is_written_with_its_modifier(type: SqlType, text: str) -> None:
    assert written_type(type) == text


def test_a_scale_has_a_sign() -> None:
    assert [numeric_digits(typmod) for typmod in (655366, 329730, 131081)] == [(10, 2), (5, -2), (2, 5)]
