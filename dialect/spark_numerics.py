"""Arithmetic of numeric: no digit is ever lost, what has no room is an error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from catalog.storage import FREE_SCALE, MAX_DIGITS, Decimal
from dialect.scalar import Call, Constant, Scalar
from dialect.spark_division import divided
from dialect.spark_rendered import Builder, Rendered, cast, decimal, failing, unsupported

# A product with more digits behind the point would leave hardly any before it.
_MOST_SCALE: Final = 26
_NO_ROOM: Final = f"a product has more than {FREE_SCALE} digits behind the point"


def scale_of(rendered: Rendered) -> int:
    """The digits behind the point of a numeric."""
    assert isinstance(rendered.storage, Decimal)
    return rendered.storage.scale


def _integral(rendered: Rendered) -> int:
    assert isinstance(rendered.storage, Decimal)
    return rendered.storage.precision - rendered.storage.scale


def _sum(symbol: str) -> Builder:
    def build(_: Call, arguments: Sequence[Rendered]) -> Rendered:
        left, right = arguments
        storage = decimal(max(map(_integral, arguments)) + 1, max(map(scale_of, arguments)))
        return cast(f"({left.sql} {symbol} {right.sql})", storage)

    return build


def _product(_: Call, arguments: Sequence[Rendered]) -> Rendered:
    return multiplied(*arguments)


def multiplied(left: Rendered, right: Rendered) -> Rendered:
    """The product, exact or an error."""
    scale = scale_of(left) + scale_of(right)
    if scale > _MOST_SCALE:
        return _product_in_parts(left, right)
    storage = decimal(_integral(left) + _integral(right) + 1, scale)
    return cast(f"({left.sql} * {right.sql})", storage)


def _product_in_parts(left: Rendered, right: Rendered) -> Rendered:
    """The product of whole parts and fractions one by one: all are exact, and only the last may not fit."""
    fractions = Decimal(MAX_DIGITS - 1, MAX_DIGITS - 2)
    storage = Decimal(MAX_DIGITS, FREE_SCALE)
    (whole, rest), (other_whole, other_rest) = _parts(left), _parts(right)
    last = f"({rest} * {other_rest})"
    kept = cast(last, Decimal(FREE_SCALE + 1, FREE_SCALE)).sql
    lost = f"{cast(last, fractions).sql} <> {cast(kept, fractions).sql}"
    total = f"({whole} * {other_whole} + {whole} * {other_rest} + {rest} * {other_whole} + {kept})"
    return cast(failing(lost, "22003", _NO_ROOM, total), storage)


def _parts(value: Rendered) -> tuple[str, str]:
    if scale_of(value) > FREE_SCALE:
        small = cast(value.sql, Decimal(MAX_DIGITS, FREE_SCALE)).sql
        value = Rendered(
            failing(f"{value.sql} % {_unit(FREE_SCALE)} <> 0", "22003", _NO_ROOM, small),
            Decimal(MAX_DIGITS, FREE_SCALE),
        )
    rest = cast(f"({value.sql} % 1)", Decimal(FREE_SCALE, FREE_SCALE)).sql
    whole = cast(f"({value.sql} - {value.sql} % 1)", Decimal(20, 0)).sql
    return whole, rest


def _unit(scale: int) -> str:
    return cast(f"'{10**-scale:.{scale}f}'", Decimal(scale, scale)).sql


def _remainder(_: Call, arguments: Sequence[Rendered]) -> Rendered:
    left, right = arguments
    storage = decimal(min(map(_integral, arguments)), max(map(scale_of, arguments)))
    return cast(f"({left.sql} % {right.sql})", storage)


def _whole_quotient(_: Call, arguments: Sequence[Rendered]) -> Rendered:
    left, right = arguments
    return cast(f"({left.sql} DIV {right.sql})", Decimal(19, 0))


def _quotient(_: Call, arguments: Sequence[Rendered]) -> Rendered:
    return divided(*arguments)


def _same_digits(symbol: str) -> Builder:
    def build(_: Call, arguments: Sequence[Rendered]) -> Rendered:
        return cast(f"({symbol}({arguments[0].sql}))", arguments[0].storage)

    return build


def _sign(_: Call, arguments: Sequence[Rendered]) -> Rendered:
    return cast(f"sign({arguments[0].sql})", Decimal(1, 0))


def rounded(value: Rendered, scale: int) -> Rendered:
    """The value to so many digits behind the point (before it, if negative), halves away from zero."""
    storage = decimal(max(_integral(value), -scale) + 1, max(0, min(scale, scale_of(value))))
    return value if scale >= scale_of(value) else cast(f"round({value.sql}, {scale})", storage)


def _truncated(value: Rendered, scale: int) -> Rendered:
    storage = decimal(max(_integral(value), -scale) + 1, max(0, scale))
    if scale >= scale_of(value):
        return value
    below, above = f"floor({value.sql}, {scale})", f"ceil({value.sql}, {scale})"
    return cast(f"CASE WHEN {value.sql} < 0 THEN {above} ELSE {below} END", storage)


def _round(call: Call, arguments: Sequence[Rendered]) -> Rendered:
    return rounded(arguments[0], _digits(call.arguments[1:]))


def _truncate(call: Call, arguments: Sequence[Rendered]) -> Rendered:
    return _truncated(arguments[0], _digits(call.arguments[1:]))


def _digits(arguments: Sequence[Scalar]) -> int:
    match arguments:
        case ():
            return 0
        case (Constant(text=str(text)),) if -MAX_DIGITS < int(text) < MAX_DIGITS:
            return int(text)
    raise unsupported("a numeric rounded to digits that are no constant")


def _whole(function: str) -> Builder:
    def build(_: Call, arguments: Sequence[Rendered]) -> Rendered:
        return cast(f"{function}({arguments[0].sql})", decimal(_integral(arguments[0]) + 1, 0))

    return build


NUMERICS: Final[Mapping[int, Builder]] = {
    1724: _sum("+"),
    1725: _sum("-"),
    1726: _product,
    1727: _quotient,
    **dict.fromkeys((1728, 1729), _remainder),
    **dict.fromkeys((1973, 1980), _whole_quotient),
    **dict.fromkeys((1704, 1705), _same_digits("abs")),
    1771: _same_digits("-"),
    1915: _same_digits("+"),
    1706: _sign,
    **dict.fromkeys((1707, 1708), _round),
    **dict.fromkeys((1709, 1710), _truncate),
    **dict.fromkeys((1711, 2167), _whole("ceil")),
    1712: _whole("floor"),
}
