"""Keys by which numerics are compared and ordered where some have no decimal: NaN, infinities, long numbers.

A key is a struct of no NULLs, NULL as a whole: a rank, the decimal, and what the number has more than that.
Structs are compared field by field. Only the key of a number without a decimal is made in Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from catalog.postgres.storage import Decimal
from dialect.duckdb.numbers import decimal_text, has_texts_alone
from dialect.duckdb.rendered import Rendered, duckdb_type, once

KEY_FUNCTION: Final = "gavial_number_key"
"""The name under which `key_of_text` is known in a database."""

KEY_ARGUMENTS: Final = ("VARCHAR", "INTEGER", "INTEGER")
KEY_TYPE: Final = "STRUCT(rank TINYINT, value VARCHAR, rest VARCHAR)"

_RANKS: Final = {"NaN": 3, "Infinity": 2, "-Infinity": -2}
_TOO_LONG: Final = 1
"""The rank of a number with more digits before the point than a decimal has; of a negative one, less that."""

_EXACT: Final = "m"
"""Comes between what is a little less than the decimal and what is a little more."""

_OPPOSITE: Final = str.maketrans("0123456789", "9876543210")


def number_key(value: Rendered, decimal: Decimal) -> str:
    """The key of a numeric that is stored as this decimal or, where it has none, as a text; or as another."""

    def key(one: str) -> str:
        return (
            f"CASE WHEN ({one}).value IS NOT NULL THEN {_exact(f'({one}).value', decimal)} "
            f"WHEN ({one}).text IS NOT NULL THEN {_of_text(f'({one}).text', decimal)} END"
        )

    if has_texts_alone(value):
        return once(value.sql, key)
    assert isinstance(value.storage, Decimal)
    known = f"{value.sql} IS NOT NULL"
    if decimal.holds(value.storage):
        return f"CASE WHEN {known} THEN {_exact(value.sql, decimal)} END"
    return f"CASE WHEN {known} THEN {_of_text(decimal_text(value.sql, value.storage), decimal)} END"


def _exact(sql: str, decimal: Decimal) -> str:
    value = f"CAST({sql} AS {duckdb_type(decimal)})"
    return f"struct_pack(rank := 0::TINYINT, value := {value}, rest := '{_EXACT}')"


def _of_text(text: str, decimal: Decimal) -> str:
    key = f"{KEY_FUNCTION}({text}, {decimal.precision - decimal.scale}, {decimal.scale})"
    return f"CAST({key} AS STRUCT(rank TINYINT, value {duckdb_type(decimal)}, rest VARCHAR))"


def key_of_text(text: str, whole_digits: int, scale: int) -> Mapping[str, object]:
    """The key of a number, of which a decimal has so many digits before and behind the point."""
    if text in _RANKS:
        return _key(_RANKS[text], "0", "")
    sign, magnitude = ("-", text[1:]) if text.startswith("-") else ("", text)
    before, _, behind = magnitude.partition(".")
    if len(before) > max(whole_digits, 1) or (not whole_digits and before != "0"):
        long = f"{len(before):06}{before}.{behind.rstrip('0')}"
        return _key(-_TOO_LONG, "0", f"{long.translate(_OPPOSITE)}~") if sign else _key(_TOO_LONG, "0", long)
    rest = behind[scale:].rstrip("0")
    beside = _EXACT
    if rest:
        beside = f"a{rest.translate(_OPPOSITE)}~" if sign else f"p{rest}"
    return _key(0, f"{sign}{before}.{behind[:scale]}0", beside)


def _key(rank: int, value: str, rest: str) -> Mapping[str, object]:
    return {"rank": rank, "value": value, "rest": rest}
