"""Arithmetic of float4 and float8: IEEE's, but an overflow or underflow is an error, as in PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from catalog.postgres.storage import Plain
from dialect.expressions.scalar import Call
from dialect.spark.numbers.written import converted
from dialect.spark.rendered import Builder, Rendered, cast, failing

INFINITY: Final = "DOUBLE('Infinity')"
_NAN: Final = "'NaN'"

# float8 also of float4 with float8 and the other way round
_OPERATORS: Final[Mapping[Plain, Mapping[str, tuple[int, ...]]]] = {
    Plain.FLOAT32: {"+": (204,), "-": (205,), "*": (202,), "/": (203,)},
    Plain.FLOAT64: {"+": (218, 281, 285), "-": (219, 282, 286), "*": (216, 279, 283), "/": (217, 280, 284)},
}
_PREFIXES: Final[Mapping[str, tuple[int, ...]]] = {
    "-": (206, 220),
    "+": (1913, 1914),
    "abs": (207, 221, 1394, 1395),
}


def checked(result: str, inputs: Sequence[str], *, nonzero: Sequence[str] = ()) -> str:
    """The result, unless it is infinite and no input is, or zero and neither are those named."""
    finite = "".join(f" AND abs({input}) <> {INFINITY}" for input in inputs)
    guarded = result
    if nonzero:
        lost = " AND ".join((f"{result} = 0", *nonzero))
        guarded = failing(lost, "22003", "value out of range: underflow", result)
    return failing(f"abs({result}) = {INFINITY}{finite}", "22003", "value out of range: overflow", guarded)


def _binary(symbol: str, storage: Plain) -> Builder:
    def build(_: Call, arguments: Sequence[Rendered]) -> Rendered:
        left, right = (converted(argument, storage).sql for argument in arguments)
        # Spark divides floats as doubles, whose quotient rounded is the same.
        result = cast(f"({left} {symbol} {right})", storage).sql
        match symbol:
            case "*":
                sql = checked(result, (left, right), nonzero=(f"{left} <> 0", f"{right} <> 0"))
            case "/":
                finite = f"abs({right}) <> {INFINITY}"
                quotient = checked(result, (left,), nonzero=(f"{left} <> 0", finite))
                # What is not a number is not divided: by zero it is no error either.
                nan = f"isnan({left}) AND {right} IS NOT NULL THEN {cast(_NAN, storage).sql}"
                sql = f"CASE WHEN {nan} ELSE {quotient} END"
            case _:
                sql = checked(result, (left, right))
        return Rendered(sql, storage)

    return build


def _prefix(symbol: str) -> Builder:
    def build(_: Call, arguments: Sequence[Rendered]) -> Rendered:
        return Rendered(f"({symbol}({arguments[0].sql}))", arguments[0].storage)

    return build


def _round(_: Call, arguments: Sequence[Rendered]) -> Rendered:
    return Rendered(f"rint({arguments[0].sql})", Plain.FLOAT64)


def _square_root(_: Call, arguments: Sequence[Rendered]) -> Rendered:
    value = arguments[0].sql
    message = "cannot take square root of a negative number"
    return Rendered(failing(f"{value} < 0", "2201F", message, f"sqrt({value})"), Plain.FLOAT64)


FLOATS: Final[Mapping[int, Builder]] = {
    **{
        oid: _binary(symbol, storage)
        for storage, operators in _OPERATORS.items()
        for symbol, oids in operators.items()
        for oid in oids
    },
    **{oid: _prefix(symbol) for symbol, oids in _PREFIXES.items() for oid in oids},
    **dict.fromkeys((228, 1342), _round),
    **dict.fromkeys((230, 1344), _square_root),
}
