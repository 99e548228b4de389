"""Texts of constants as PostgreSQL's input functions read them; what they refuse, or engines cannot write, is
refused here."""

from __future__ import annotations

import decimal
import re
from collections.abc import Callable
from typing import Final

from catalog.postgres.storage import Decimal, Storage, Written
from dialect.expressions.storages import unsupported

_TRUE: Final = ("true", "yes", "on", "1")
_FALSE: Final = ("false", "no", "off", "0")
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?")
_FLOAT: Final = re.compile(rf"{_NUMBER.pattern}|nan|[+-]?inf(inity)?")


SPECIAL_NUMBERS: Final = {
    "nan": "NaN",
    **dict.fromkeys(("inf", "+inf", "infinity", "+infinity"), "Infinity"),
    **dict.fromkeys(("-inf", "-infinity"), "-Infinity"),
}
"""How PostgreSQL reads numerics that are no numbers, and how it writes them."""

SPECIAL_TEXTS: Final = "('NaN', 'Infinity', '-Infinity')"
"""The texts of numerics that are no numbers, as a list in the SQL of any engine."""


def is_numeric(storage: Storage) -> bool:
    """Whether a numeric is stored so."""
    return isinstance(storage.value if isinstance(storage, Written) else storage, Decimal)


def boolean(text: str) -> str:
    """TRUE or FALSE."""
    word = text.strip().lower()
    for words, value in ((_TRUE, "TRUE"), (_FALSE, "FALSE")):
        if word and any(spelling.startswith(word) for spelling in words) and word != "o":
            return value
    raise unsupported(f"the boolean {text!r}")


def integer(text: str) -> str:
    """The digits of an integer."""
    if not _INTEGER.fullmatch(text.strip()):
        raise unsupported(f"the integer {text!r}")
    return str(int(text))


def floating(text: str) -> str:
    """A floating-point number."""
    if not _FLOAT.fullmatch(text.strip().lower()):
        raise unsupported(f"the floating-point number {text!r}")
    return text.strip()


def digits_of(text: str) -> tuple[str, Decimal]:
    """A number without exponent, and the decimal with just its digits, which may be more than there are."""
    word = text.strip().lower()
    if not _NUMBER.fullmatch(word):
        raise unsupported(f"the number {text}")
    sign, digits, exponent = decimal.Decimal(word).as_tuple()
    assert isinstance(exponent, int)
    number = "".join(map(str, digits)) + "0" * max(0, exponent)
    scale = max(0, -exponent)
    precision = max(len(number.lstrip("0")), scale, 1)
    padded = number.lstrip("0").rjust(scale + 1, "0")
    point = f".{padded[-scale:]}" if scale else ""
    negative = sign and padded.strip("0")
    return f"{'-' if negative else ''}{padded[: len(padded) - scale]}{point}", Decimal(precision, scale)


def read_moment(read: Callable[[str], int], text: str, what: str = "time") -> int:
    """What this reads of a date or a time."""
    try:
        return read(text)
    except ValueError:
        raise unsupported(f"the {what} {text!r}") from None
