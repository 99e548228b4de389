"""Texts of expressions grow with what is in them, and no faster."""

from __future__ import annotations

import pytest

from catalog.errors import FeatureNotSupported
from catalog.postgres.storage import storage_of
from catalog.postgres.types import FLOAT8, INT4, NUMERIC, TEXT, SqlType
from dialect.expressions.scalar import Call, Notation, Reference, Scalar
from dialect.spark.expressions import render
from dialect.spark.functions import FUNCTIONS
from dialect.spark.rendered import Rendered
from tests.support.binding.cases import read_snapshot
from tests.support.spark.cases import C, cast_cases, function_cases

_DEEP = 12
_MOST_OF_A_CALL = 2500

_TEXT = SqlType(TEXT, -1, C)


def _written(scalar: Scalar, arguments: tuple[SqlType, ...], texts: tuple[str, ...]) -> str:
    columns = {
        place: Rendered(text, storage_of(type_))
        for place, (text, type_) in enumerate(zip(texts, arguments, strict=True))
    }
    return render(scalar, columns).sql


@pytest.mark.parametrize(
    ("function", "name", "types"),
    [
        (218, "+", (FLOAT8, FLOAT8)),
        (216, "*", (FLOAT8, FLOAT8)),
        (217, "/", (FLOAT8, FLOAT8)),
        (936, "substring", (TEXT, INT4, INT4)),
        (3061, "right", (TEXT, INT4)),
        (873, "lpad", (TEXT, INT4, TEXT)),
    ],
)
def test_calls_inside_calls(function: int, name: str, types: tuple[int, ...]) -> None:
    arguments = tuple(_TEXT if oid == TEXT else SqlType(oid) for oid in types)
    first, *others = (Reference(place, type_) for place, type_ in enumerate(arguments))
    nested: Scalar = first
    for _ in range(_DEEP):
        nested = Call(function, name, Notation.FUNCTION, (nested, *others), C, first.type)
    names = tuple(f"x.c{place}" for place in range(len(arguments)))
    assert len(_written(nested, arguments, names)) < _DEEP * _MOST_OF_A_CALL


def test_a_long_argument_is_written_once() -> None:
    functions = read_snapshot().signatures.functions.values()
    known = {function.oid: function for named in functions for function in named}
    signatures = [
        (oid, known[oid].name, list(known[oid].arguments), known[oid].result)
        for oid in sorted(FUNCTIONS)
        if oid in known and NUMERIC not in known[oid].arguments  # numerics see to it in their own way
    ]
    written = 0
    for case in (*function_cases(signatures), *cast_cases()):
        if any(type_.oid == NUMERIC for type_ in case.arguments):
            continue
        texts = tuple(f"<{place}{'-' * 1000}>" for place in range(len(case.arguments)))
        try:
            sql = _written(case.scalar, case.arguments, texts)
        except FeatureNotSupported:
            continue
        written += 1
        assert {text: sql.count(text) for text in texts if sql.count(text) > 1} == {}, case.name
    assert written > 100
