"""The functions that the catalog names are those that PostgreSQL calls so."""

from __future__ import annotations

import pytest

from catalog.postgres import functions
from catalog.postgres.comparisons import COMPARISONS
from catalog.postgres.signatures import Signatures
from tests.support.binding.cases import read_snapshot

NAMED = {name: oid for name, oid in vars(functions).items() if name.isupper() and isinstance(oid, int)}
SIGNATURES: Signatures = read_snapshot().signatures
FUNCTIONS = {function.oid: function for named in SIGNATURES.functions.values() for function in named}


@pytest.mark.parametrize("name", NAMED)
def test_a_function_is_called_as_postgresql_calls_it(name: str) -> None:
    signature = FUNCTIONS[NAMED[name]]
    types = [SIGNATURES.types[argument].name for argument in signature.arguments]
    alone = [function.name for function in SIGNATURES.functions[signature.name]] == [signature.name]
    assert name.lower() in ("_".join((signature.name, *types)), *([signature.name] if alone else ()))


def test_comparisons_are_the_operators_of_postgresql() -> None:
    named = {(symbol, *types): oid for types, of in COMPARISONS.items() for symbol, oid in of.items()}
    recorded = {
        (operator.name, operator.left, operator.right): operator.function
        for operators in SIGNATURES.operators.values()
        for operator in operators
        if (operator.left, operator.right) in COMPARISONS
    }
    assert {key: oid for key, oid in named.items() if key in recorded} == {
        key: oid for key, oid in recorded.items() if key in named
    }
    assert len(named.keys() - recorded.keys()) == 6, "those of oid are not recorded"
