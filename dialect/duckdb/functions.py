"""The table of functions that DuckDB computes exactly as PostgreSQL: by their oids in pg_proc."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_lowercase, ascii_uppercase
from typing import Final

from catalog.postgres import functions
from catalog.postgres.comparisons import COMPARISONS
from catalog.postgres.storage import Plain
from catalog.postgres.types import (
    ANYARRAY,
    ANYENUM,
    C_COLLATIONS,
    CHAR,
    JSONB,
    OID,
    TIMETZ,
)
from dialect.duckdb.dates import DATES
from dialect.duckdb.division import quotient
from dialect.duckdb.equality import compared
from dialect.duckdb.long_arithmetic import LONG_NUMBERS
from dialect.duckdb.numbers import NUMERICS, converted
from dialect.duckdb.rendered import Builder, NotWritten, Rendered, cast, text_literal, unless
from dialect.duckdb.rounding import ROUNDING
from dialect.expressions.scalar import Call, Constant

# One row for each type of result; int4 also of int2 with int4, int8 also with both.
_ARITHMETIC: Final[Mapping[Plain, Mapping[str, tuple[int, ...]]]] = {
    Plain.INT16: {"+": (176,), "-": (180,), "*": (152,), "//": (153,), "%": (155, 940)},
    Plain.INT32: {
        "+": (177, 178, 179),
        "-": (181, 182, 183),
        "*": (141, 170, 171),
        "//": (154, 172, 173),
        "%": (156, 941),
    },
    Plain.INT64: {
        "+": (463, 1274, 1278, 837, 841),
        "-": (464, 1275, 1279, 838, 942),
        "*": (465, 1276, 1280, 839, 943),
        "//": (466, 1277, 1281, 840, 948),
        "%": (945, 947),
    },
    Plain.FLOAT32: {"+": (204,), "-": (205,), "*": (202,), "/": (203,)},
    Plain.FLOAT64: {"+": (218, 281, 285), "-": (219, 282, 286), "*": (216, 279, 283), "/": (217, 280, 284)},
}
_FLOATS: Final = (Plain.FLOAT32, Plain.FLOAT64)
_PREFIXES: Final[Mapping[str, tuple[int, ...]]] = {
    "-": (213, 212, 462, 206, 220),
    "+": (1911, 1912, 1910, 1913, 1914),
    "abs": (1253, 1398, 1251, 1397, 1230, 1396, 207, 221, 1394, 1395),
}
_OF_ANY: Final = ("=", "<>")
_UNORDERED: Final = (CHAR, ANYENUM)
_COMPARISONS: Final = {
    types: {symbol: operators[symbol] for symbol in (_OF_ANY if types[0] in _UNORDERED else operators)}
    for types, operators in COMPARISONS.items()
    if types[0] not in (OID, TIMETZ, ANYARRAY, JSONB)
}
EQUALITIES: Final = frozenset(operators["="] for operators in _COMPARISONS.values())
_MOST: Final = 2**31 - 1
_MOST_ADDED: Final = 1000
"""So many characters, or repetitions, a text is made longer by here."""


def _comparison(symbol: str) -> Builder:
    def build(_: Call, arguments: Sequence[Rendered]) -> Rendered:
        left, right = arguments
        return Rendered(compared(symbol, left, right), Plain.BOOLEAN)

    return build


def _of_integers(symbol: str, storage: Plain) -> Builder:
    def build(_: Call, arguments: Sequence[Rendered]) -> Rendered:
        left, right = (converted(argument, Plain.INT64).sql for argument in arguments)
        return cast(f"({left} {symbol} {right})", storage)

    return build


def _of_floats(symbol: str, storage: Plain) -> Builder:
    """Arithmetic of floats; what may overflow, vanish or divide by zero is left to Spark."""

    def build(_: Call, arguments: Sequence[Rendered]) -> Rendered:
        left, right = (converted(argument, storage).sql for argument in arguments)
        result = cast(f"({left} {symbol} {right})", storage).sql
        are_finite = f"isfinite({left}) AND isfinite({right})"
        if symbol == "/":
            unsure = f"NOT ({are_finite} AND isfinite({result})) OR {result} = 0 AND {left} <> 0"
        else:
            unsure = f"{are_finite} AND NOT isfinite({result})"
        if symbol == "*":
            unsure += f" OR {result} = 0 AND {left} <> 0 AND {right} <> 0"
        return Rendered(unless(unsure, result), storage)

    return build


def _prefix(symbol: str) -> Builder:
    def build(_: Call, arguments: Sequence[Rendered]) -> Rendered:
        (argument,) = arguments
        return cast(f"({symbol}({argument.sql}))", argument.storage)

    return build


def _template(template: str, storage: Plain = Plain.TEXT) -> Builder:
    def build(_: Call, arguments: Sequence[Rendered]) -> Rendered:
        return cast(template.format(*(argument.sql for argument in arguments)), storage)

    return build


def _unless(condition: str, template: str, storage: Plain) -> Builder:
    """The same of values for which the condition is not true; others are left to Spark."""

    def build(_: Call, arguments: Sequence[Rendered]) -> Rendered:
        values = [argument.sql for argument in arguments]
        return cast(unless(condition.format(*values), template.format(*values)), storage)

    return build


def _like(*, negated: bool) -> Builder:
    def build(call: Call, arguments: Sequence[Rendered]) -> Rendered:
        match call.arguments[1]:
            case Constant(text=str(pattern)) if "\\" not in pattern:
                word = "NOT LIKE" if negated else "LIKE"
                return Rendered(f"({arguments[0].sql} {word} {text_literal(pattern)})", Plain.BOOLEAN)
        raise NotWritten("LIKE with a pattern that is no constant, or has an escape")

    return build


def _cased(source: str, target: str) -> Builder:
    def build(call: Call, arguments: Sequence[Rendered]) -> Rendered:
        if call.collation not in C_COLLATIONS:
            raise NotWritten(f"{call.name} under another collation than C")
        return Rendered(f"translate({arguments[0].sql}, '{source}', '{target}')", Plain.TEXT)

    return build


def _substring(_: Call, arguments: Sequence[Rendered]) -> Rendered:
    """So many characters from the start, which may lie before the text."""
    value, start = arguments[0].sql, cast(arguments[1].sql, Plain.INT64).sql
    first = f"CASE WHEN {start} < 1 THEN 1 ELSE {start} END"
    if len(arguments) == 2:
        return Rendered(f"substring({value}, {first}, {_MOST})", Plain.TEXT)
    length = arguments[2].sql
    width = f"({start} + {length} - ({first}))"
    count = f"CASE WHEN {width} < 0 THEN 0 WHEN {width} > {_MOST} THEN {_MOST} ELSE {width} END"
    return Rendered(unless(f"{length} < 0", f"substring({value}, {first}, {count})"), Plain.TEXT)


def _lengthened(template: str) -> Builder:
    """A text that a number makes longer; a long one is left to Spark, which has memory of its own."""

    def build(_: Call, arguments: Sequence[Rendered]) -> Rendered:
        value, number, *filling = (argument.sql for argument in arguments)
        is_long = f"{number} > {_MOST_ADDED}"
        bounded = template.format(value, f"CASE WHEN {is_long} THEN 0 ELSE {number} END", *filling)
        return Rendered(unless(is_long, bounded), Plain.TEXT)

    return build


def _bitwise(template: str, storage: Plain) -> Builder:
    def build(_: Call, arguments: Sequence[Rendered]) -> Rendered:
        return cast(template.format(*(converted(argument, storage).sql for argument in arguments)), storage)

    return build


def _in_bits(storage: Plain, and_: int, or_: int, xor: int, not_: int) -> Mapping[int, Builder]:
    return {
        and_: _bitwise("({} & {})", storage),
        or_: _bitwise("({} | {})", storage),
        xor: _bitwise("xor({}, {})", storage),
        not_: _bitwise("(~{})", storage),
    }


FUNCTIONS: Final[Mapping[int, Builder]] = {
    **{oid: _comparison(symbol) for operators in _COMPARISONS.values() for symbol, oid in operators.items()},
    **{
        oid: (_of_floats if storage in _FLOATS else _of_integers)(symbol, storage)
        for storage, operators in _ARITHMETIC.items()
        for symbol, oids in operators.items()
        for oid in oids
    },
    **{oid: _prefix(symbol) for symbol, oids in _PREFIXES.items() for oid in oids},
    **NUMERICS,
    **LONG_NUMBERS,
    functions.NUMERIC_DIV: quotient,
    1258: _template("{} || {}"),
    **dict.fromkeys((1257, 1317, 1369, 1381, 1318, 1367, 1372), _template("length({})", Plain.INT32)),
    870: _cased(ascii_uppercase, ascii_lowercase),
    871: _cased(ascii_lowercase, ascii_uppercase),
    **dict.fromkeys((850, 1569), _like(negated=False)),
    **dict.fromkeys((851, 1570), _like(negated=True)),
    **dict.fromkeys((877, 883, 936, 937), _substring),
    2087: _template("replace({}, {}, {})"),
    3696: _template("starts_with({}, {})", Plain.BOOLEAN),
    2311: _template("md5({})"),
    **ROUNDING,
    **_in_bits(Plain.INT16, 1892, 1893, 1894, 1895),
    **_in_bits(Plain.INT32, 1898, 1899, 1900, 1901),
    **_in_bits(Plain.INT64, 1904, 1905, 1906, 1907),
    **dict.fromkeys((849, 868), _template("strpos({}, {})", Plain.INT32)),
    1374: _template("strlen({})", Plain.INT32),
    **dict.fromkeys((720, 2010), _template("octet_length({})", Plain.INT32)),
    2011: _template("({} || {})", Plain.BYTES),
    878: _template("translate({}, {}, {})"),
    3060: _template("left({}, {})"),
    3061: _unless("{1} = -2147483648", "right({0}, {1})", Plain.TEXT),
    1622: _lengthened("repeat({}, {})"),
    873: _lengthened("lpad({}, {}, {})"),
    874: _lengthened("rpad({}, {}, {})"),
    879: _lengthened("lpad({}, {}, ' ')"),
    880: _lengthened("rpad({}, {}, ' ')"),
    **dict.fromkeys((230, 1344), _unless("{0} < 0", "sqrt({0})", Plain.FLOAT64)),
    **DATES,
    881: _template("ltrim({}, ' ')"),
    882: _template("rtrim({}, ' ')"),
    885: _template("trim({}, ' ')"),
    875: _template("ltrim({}, {})"),
    876: _template("rtrim({}, {})"),
    884: _template("trim({}, {})"),
}
