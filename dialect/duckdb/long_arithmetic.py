"""Addition, subtraction and multiplication of numerics of any length: in Python, on their texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from typing import Final

from catalog.postgres.storage import FREE_NUMERIC, FREE_SCALE
from dialect.duckdb.numbers import text_of
from dialect.duckdb.rendered import Builder, Rendered, duckdb_type, named
from dialect.expressions.scalar import LONG_ADD, LONG_MULTIPLY, LONG_SUBTRACT, Call

ARITHMETIC_FUNCTION: Final = "gavial_arithmetic"
"""The name under which `arithmetic_text` is known in a database."""

_EXACT: Final = Context(prec=200_000, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])
"""What has no result, as Infinity - Infinity, is NaN here, as in PostgreSQL."""

_OPERATIONS: Final[Mapping[str, Callable[[Decimal, Decimal], Decimal]]] = {
    "+": _EXACT.add,
    "-": _EXACT.subtract,
    "*": _EXACT.multiply,
}


def arithmetic_text(operator: str, left: str, right: str) -> str:
    """What an operator makes of two numbers, as PostgreSQL writes it; zero has no sign."""
    result = _OPERATIONS[operator](Decimal(left), Decimal(right))
    return f"{result if result else result.copy_abs():f}"


def _of_any_length(operator: str) -> Builder:
    def build(_: Call, arguments: Sequence[Rendered]) -> Rendered:
        texts = ", ".join(map(text_of, arguments))
        behind = "length(rtrim(split_part(result, '.', 2), '0'))"
        read = f"TRY_CAST(result AS {duckdb_type(FREE_NUMERIC.value)})"
        value = f"CASE WHEN {behind} <= {FREE_SCALE} THEN {read} END"
        struct = f"CASE WHEN result IS NOT NULL THEN struct_pack(value := {value}, text := result) END"
        result = named("result", f"{ARITHMETIC_FUNCTION}('{operator}', {texts})", struct)
        return Rendered(f"CAST({result} AS {duckdb_type(FREE_NUMERIC)})", FREE_NUMERIC)

    return build


LONG_OPERATORS: Final[Mapping[int, Builder]] = {
    LONG_ADD: _of_any_length("+"),
    LONG_SUBTRACT: _of_any_length("-"),
    LONG_MULTIPLY: _of_any_length("*"),
}
