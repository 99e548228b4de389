"""Arithmetic of int2, int4 and int8: exact, or an error where PostgreSQL has one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from catalog.postgres.storage import Plain
from dialect.expressions.scalar import Call
from dialect.spark.numbers.written import converted
from dialect.spark.rendered import Builder, Rendered, cast

# One row for each type of result; int4 also of int2 with int4, int8 also with both.
_OPERATORS: Final[Mapping[Plain, Mapping[str, tuple[int, ...]]]] = {
    Plain.INT16: {"+": (176,), "-": (180,), "*": (152,), "DIV": (153,), "%": (155, 940)},
    Plain.INT32: {
        "+": (177, 178, 179),
        "-": (181, 182, 183),
        "*": (141, 170, 171),
        "DIV": (154, 172, 173),
        "%": (156, 941),
    },
    Plain.INT64: {
        "+": (463, 1274, 1278, 837, 841),
        "-": (464, 1275, 1279, 838, 942),
        "*": (465, 1276, 1280, 839, 943),
        "DIV": (466, 1277, 1281, 840, 948),
        "%": (945, 947),
    },
}
_BITWISE: Final[Mapping[Plain, Mapping[str, int]]] = {
    Plain.INT16: {"&": 1892, "|": 1893, "^": 1894},
    Plain.INT32: {"&": 1898, "|": 1899, "^": 1900},
    Plain.INT64: {"&": 1904, "|": 1905, "^": 1906},
}
_PREFIXES: Final[Mapping[str, tuple[int, ...]]] = {
    "-": (213, 212, 462),
    "+": (1911, 1912, 1910),
    "~": (1895, 1901, 1907),
    "abs": (1253, 1398, 1251, 1397, 1230, 1396),
}


def _binary(symbol: str, storage: Plain) -> Builder:
    def build(_: Call, arguments: Sequence[Rendered]) -> Rendered:
        # The cast finds what does not fit and names its type, which an overflow in Spark does not.
        left, right = (converted(argument, Plain.INT64).sql for argument in arguments)
        return cast(f"({left} {symbol} {right})", storage)

    return build


def _bitwise(symbol: str, storage: Plain) -> Builder:
    def build(_: Call, arguments: Sequence[Rendered]) -> Rendered:
        left, right = (converted(argument, storage).sql for argument in arguments)
        return cast(f"({left} {symbol} {right})", storage)

    return build


def _prefix(symbol: str) -> Builder:
    def build(_: Call, arguments: Sequence[Rendered]) -> Rendered:
        (argument,) = arguments
        assert isinstance(argument.storage, Plain)
        return cast(f"({symbol}({converted(argument, Plain.INT64).sql}))", argument.storage)

    return build


INTEGERS: Final[Mapping[int, Builder]] = {
    **{
        oid: _binary(symbol, storage)
        for storage, operators in _OPERATORS.items()
        for symbol, oids in operators.items()
        for oid in oids
    },
    **{
        oid: _bitwise(symbol, storage)
        for storage, operators in _BITWISE.items()
        for symbol, oid in operators.items()
    },
    **{oid: _prefix(symbol) for symbol, oids in _PREFIXES.items() for oid in oids},
}
