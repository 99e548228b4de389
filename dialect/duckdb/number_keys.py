"""Keys by which numerics are compared and ordered where some have no decimal: NaN, infinities, long numbers.

A key is a struct of no NULLs, NULL as a whole: a rank, the decimal, and what the number has more than that.
Structs are compared field by field. Only the key of a number without a decimal is made in Python.
"""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, ROUND_DOWN, Context, Decimal
from typing import Final

from catalog.postgres import storage as stored
from catalog.postgres.storage import FREE_NUMERIC, FREE_SCALE, MAX_DIGITS, Storage
from dialect.duckdb.numbers import decimal_text, has_texts_alone
from dialect.duckdb.rendered import Rendered, duckdb_type, once

KEY_FUNCTION: Final = "gavial_number_key"
"""The name under which `key_of_text` is known in a database."""

_RANK: Final = "TINYINT"
KEY_TYPE: Final = f"STRUCT(rank {_RANK}, value {duckdb_type(FREE_NUMERIC.value)}, rest VARCHAR)"

_RANKS: Final = {"NaN": 3, "Infinity": 2, "-Infinity": -2}
_TOO_LONG: Final = 1
"""The rank of a number with more digits before the point than a decimal has; of a negative one, less that."""

_EXACT: Final = "m"
"""Comes between what is a little less than the decimal and what is a little more."""

_WHOLE_DIGITS: Final = MAX_DIGITS - FREE_SCALE
_OPPOSITE: Final = str.maketrans("0123456789", "9876543210")
_CUT: Final = Context(prec=200_000, Emax=MAX_EMAX, Emin=MIN_EMIN, rounding=ROUND_DOWN)


def number_key(value: Rendered, decimal: stored.Decimal) -> str:
    """The key of a numeric, which is stored as this decimal or, where it has none, as a text."""

    def key(one: str) -> str:
        exact = f"struct_pack(rank := 0::{_RANK}, value := ({one}).value, rest := '{_EXACT}')"
        return (
            f"CASE WHEN ({one}).value IS NOT NULL THEN {exact} "
            f"WHEN ({one}).text IS NOT NULL THEN {_typed(f'{KEY_FUNCTION}(({one}).text)', decimal)} END"
        )

    if has_texts_alone(value):
        return once(value.sql, key)
    assert isinstance(value.storage, stored.Decimal)
    if decimal.holds(value.storage):
        return once(value.sql, lambda one: _whole_key(one, decimal))
    text = decimal_text(value.sql, value.storage)
    return f"CASE WHEN {value.sql} IS NOT NULL THEN {_typed(f'{KEY_FUNCTION}({text})', decimal)} END"


def _whole_key(sql: str, decimal: stored.Decimal) -> str:
    exact = (
        f"struct_pack(rank := 0::{_RANK}, value := CAST({sql} AS {duckdb_type(decimal)}), rest := '{_EXACT}')"
    )
    return f"CASE WHEN {sql} IS NOT NULL THEN {exact} END"


def _typed(key: str, decimal: Storage) -> str:
    if decimal == FREE_NUMERIC.value:
        return key
    return f"CAST({key} AS STRUCT(rank {_RANK}, value {duckdb_type(decimal)}, rest VARCHAR))"


def key_of_text(text: str) -> dict[str, object]:
    """The key of a number by its text."""
    if text in _RANKS:
        return _key(_RANKS[text], Decimal(0), "")
    before, _, behind = text.lstrip("-").partition(".")
    is_negative = text.startswith("-")
    if len(before) > _WHOLE_DIGITS:
        magnitude = f"{len(before):06}{before}.{behind.rstrip('0')}"
        if is_negative:
            return _key(-_TOO_LONG, Decimal(0), magnitude.translate(_OPPOSITE) + "~")
        return _key(_TOO_LONG, Decimal(0), magnitude)
    cut = _CUT.quantize(Decimal(text), Decimal(1).scaleb(-FREE_SCALE))
    rest = behind[FREE_SCALE:].rstrip("0")
    if not rest:
        return _key(0, cut, _EXACT)
    return _key(0, cut, f"a{rest.translate(_OPPOSITE)}~" if is_negative else f"p{rest}")


def _key(rank: int, value: Decimal, rest: str) -> dict[str, object]:
    return {"rank": rank, "value": value, "rest": rest}
