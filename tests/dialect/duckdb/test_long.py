"""Expressions whose text would be too long are left to Spark before they are."""

from __future__ import annotations

import pytest

from catalog.postgres.storage import Plain
from catalog.postgres.types import FLOAT8, SqlType
from dialect.duckdb.expressions import render
from dialect.duckdb.rendered import NotWritten, Rendered
from dialect.expressions.environment import DEFAULT
from dialect.expressions.scalar import Call, Notation, Reference, Scalar

FLOAT = SqlType(FLOAT8)
COLUMNS = {place: Rendered(f"x.c{place}", Plain.FLOAT64) for place in (0, 1)}


def _divided(times: int) -> Scalar:
    nested: Scalar = Reference(0, FLOAT)
    for _ in range(times):
        nested = Call(217, "/", Notation.OPERATOR, (nested, Reference(1, FLOAT)), 0, FLOAT)
    return nested


def test_calls_inside_calls() -> None:
    assert "isfinite" in render(_divided(3), COLUMNS, DEFAULT.storage).sql
    with pytest.raises(NotWritten, match="a long expression"):
        render(_divided(30), COLUMNS, DEFAULT.storage)
