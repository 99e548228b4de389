"""PostgreSQL's equality and order of stored values, and what tells apart values that are equal.

0 and -0 are equal, yet they are written differently. A row is what is written: when rows are summed up, only
identical ones are one. Groups, joins and comparisons go by equality.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from catalog.postgres.storage import Decimal, ListOf, Padded, Plain, Shaped, Storage, Written
from dialect.duckdb.number_keys import number_key
from dialect.duckdb.numbers import converted, has_texts_alone, value_of
from dialect.duckdb.rendered import NotWritten, Rendered, cast, unless
from dialect.expressions.storages import comparison_storage, has_forms

_MICROSECONDS_PER_DAY: Final = 86_400_000_000
_FLOATS: Final = (Plain.FLOAT32, Plain.FLOAT64)


def comparable(rendered: Rendered) -> Rendered:
    """What DuckDB compares as PostgreSQL compares the value; an interval by the time it is worth."""
    match rendered.storage:
        case Plain.INTERVAL:
            days = f"(CAST(({rendered.sql}).months AS HUGEINT) * 30 + ({rendered.sql}).days)"
            sql = f"({days} * {_MICROSECONDS_PER_DAY} + ({rendered.sql}).microseconds)"
            return Rendered(sql, Plain.INT64)
        case Plain.JSONB:
            raise NotWritten("equality of jsonb")
        case Written(value=Decimal()):
            return value_of(rendered)
        case Padded(length=None):
            return Rendered(f"rtrim({rendered.sql}, ' ')", Plain.TEXT)
        case Padded():
            return Rendered(rendered.sql, Plain.TEXT)
        case Written() | ListOf() | Shaped():
            raise NotWritten("equality of arrays")
        case Plain() | Decimal():
            return rendered


def sort_key(rendered: Rendered) -> str:
    """What DuckDB orders, and tells apart, as PostgreSQL does the value; of numerics all there are."""
    if has_texts_alone(rendered):
        return number_key(rendered, _decimal_of(rendered))
    return comparable(rendered).sql


def compared(symbol: str, left: Rendered, right: Rendered) -> str:
    """The comparison, in a type that holds both sides."""
    if has_texts_alone(left) or has_texts_alone(right):
        decimal = comparison_storage(_decimal_of(left), _decimal_of(right))
        assert isinstance(decimal, Decimal)
        return f"({_key_among(left, decimal)} {symbol} {_key_among(right, decimal)})"
    left, right = comparable(left), comparable(right)
    if {left.storage, right.storage} == {Plain.DATE, Plain.TIMESTAMP}:
        left, right = _as_timestamp(left), _as_timestamp(right)
    common = comparison_storage(left.storage, right.storage)
    return f"({converted(left, common).sql} {symbol} {converted(right, common).sql})"


def _key_among(value: Rendered, decimal: Decimal) -> str:
    """The key of a numeric among numerics that this decimal is for."""
    return number_key(
        converted(value, Written(decimal)) if has_texts_alone(value) else value_of(value), decimal
    )


def _decimal_of(value: Rendered) -> Decimal:
    storage = value_of(value).storage
    assert isinstance(storage, Decimal)
    return storage


def _as_timestamp(value: Rendered) -> Rendered:
    if value.storage is Plain.TIMESTAMP:
        return value
    return Rendered(unless(is_far(value), f"CAST({value.sql} AS TIMESTAMP)"), Plain.TIMESTAMP)


def is_far(value: Rendered) -> str:
    """Whether a date or timestamp is infinite, or far enough from ours to be left to Spark."""
    if value.storage is Plain.DATE:
        return f"{value.sql} NOT BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'"
    return f"{value.sql} NOT BETWEEN TIMESTAMP '0001-01-01' AND TIMESTAMP '9999-12-31 23:59:59.999999'"


def group_key(rendered: Rendered) -> str:
    """What is equal in a group; numerics come trimmed (planner/delta/numbers/written.py)."""
    return rendered.sql if isinstance(rendered.storage, Written) else comparable(rendered).sql


def group_value(rendered: Rendered) -> Rendered:
    """What stands for a group: the least of the forms that its rows have."""
    storage = rendered.storage
    if isinstance(storage, Written) or not has_forms(storage):
        return Rendered(f"any_value({rendered.sql})", storage)
    if storage in _FLOATS:
        negative = is_negative_zero(rendered)
        both = f"bool_or({negative}) AND NOT bool_and({negative})"
        zero = cast("0", storage).sql
        return Rendered(f"CASE WHEN {both} THEN {zero} ELSE any_value({rendered.sql}) END", storage)
    raise NotWritten("a group by values that are written in several ways")


def any_of(rendered: Rendered, condition: str = "") -> str:
    """Any of values that are identical; inside lists any_value, as arg_min and min of structs, loses -0."""
    if rendered.storage not in _FLOATS and holds_floats(rendered.storage):
        return f"(list({rendered.sql}){condition})[1]"
    return f"any_value({rendered.sql}){condition}"


def identity(rendered: Rendered) -> str:
    """What DuckDB groups by so that only identical values are together."""
    return f"CAST({rendered.sql} AS VARCHAR)" if holds_floats(rendered.storage) else rendered.sql


def forms(rendered: Rendered) -> Sequence[str]:
    """Keys that order equal values by how they are written."""
    match rendered.storage:
        case Plain.FLOAT32 | Plain.FLOAT64:
            return (is_negative_zero(rendered),)
        case Written(value=Decimal()):
            return (f"({rendered.sql}).text",)
        case storage if has_forms(storage):
            raise NotWritten("an order of values that are written in several ways")
        case _:
            return ()


def holds_floats(storage: Storage) -> bool:
    """Whether DuckDB would take 0 and -0 in such values for identical."""
    match storage:
        case ListOf(element=element) | Shaped(elements=ListOf(element=element)):
            return holds_floats(element)
        case _:
            return storage in _FLOATS


def is_negative_zero(rendered: Rendered) -> str:
    """Whether a float is -0; never NULL."""
    return f"coalesce({rendered.sql} = 0 AND CAST({rendered.sql} AS VARCHAR) = '-0.0', FALSE)"


def extreme(name: str, rendered: Rendered, condition: str) -> str:
    """The aggregate min or max of the rows for which the condition is true: of zeros 0, or -0 for max."""
    known = f"CASE WHEN {condition} THEN {rendered.sql} END"
    if not has_forms(rendered.storage):
        return f"{name}({known})"
    if isinstance(rendered.storage, Written) and isinstance(rendered.storage.value, Decimal):
        place = f"struct_pack(key := {sort_key(rendered)}, text := ({rendered.sql}).text)"
        return f"arg_{name}({known}, CASE WHEN {known} IS NOT NULL THEN {place} END)"
    if rendered.storage not in _FLOATS:
        raise NotWritten(f"{name} of values that are written in several ways")
    negative = is_negative_zero(Rendered(known, rendered.storage))
    zero, negative_zero = (cast(f"'{sign}0'", rendered.storage).sql for sign in ("", "-"))
    if name == "min":
        zeros = f"CASE WHEN bool_or({known} = 0 AND NOT {negative}) THEN {zero} ELSE {negative_zero} END"
    else:
        zeros = f"CASE WHEN bool_or({negative}) THEN {negative_zero} ELSE {zero} END"
    return f"CASE WHEN {name}({known}) = 0 THEN {zeros} ELSE {name}({known}) END"
