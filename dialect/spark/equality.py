"""PostgreSQL's equality and order of stored values, and what tells apart values that are equal.

0 and -0 are equal, and so are '1 month' and '30 days'; yet they are written differently. A row is what is
written: when rows are summed up, only identical ones are one. Groups, joins and comparisons go by equality.
"""

from __future__ import annotations

from typing import Final

from catalog.postgres.storage import Decimal, ListOf, Padded, Plain, Shaped, Storage, Written
from dialect.expressions.storages import has_forms
from dialect.spark.numbers.written import is_whole, order_key, value_of
from dialect.spark.rendered import Rendered, cast, text_literal
from dialect.spark.shapes import parts_of, shaped

_MICROSECONDS_PER_DAY: Final = 86_400_000_000
_FLOATS: Final = (Plain.FLOAT32, Plain.FLOAT64)
_ELEMENT: Final = "element"

# PostgreSQL writes the members of an object in one order, and a number without exponent, but with the zeros
# at its end that it was given. Strings are passed over, then of a number what is left without those zeros.
_JSON_NUMBER: Final = text_literal(
    r'("[^"\\]*+(?:\\.[^"\\]*+)*+")|(-?[0-9]++)(?:\.0++(?![0-9])|(\.[0-9]*[1-9])0++(?![0-9]))'
)
_JSON_SHORTENED: Final = text_literal("$1$2$3")


def comparable(rendered: Rendered) -> Rendered:
    """What Spark compares as PostgreSQL compares the value; an interval by the time it is worth.

    Spark takes 0 for equal to -0, but the filters that it has Parquet apply do not; their sum is 0.
    """
    match rendered.storage:
        case Plain.INTERVAL:
            days = f"(CAST({rendered.sql}.months AS DECIMAL(38, 0)) * 30 + {rendered.sql}.days)"
            sql = f"({days} * {_MICROSECONDS_PER_DAY}L + {rendered.sql}.microseconds)"
            return Rendered(sql, Plain.INT64)
        case Plain.FLOAT32 | Plain.FLOAT64:
            return Rendered(f"({rendered.sql} + {cast('0', rendered.storage).sql})", rendered.storage)
        case Plain.JSONB:
            sql = f"regexp_replace({rendered.sql}, {_JSON_NUMBER}, {_JSON_SHORTENED})"
            return Rendered(sql, Plain.TEXT)
        case Written(value=Decimal() as decimal):
            if is_whole(rendered):
                return value_of(rendered)
            return Rendered(order_key(rendered, decimal), rendered.storage)
        case Padded(length=None):
            return Rendered(f"rtrim({rendered.sql})", Plain.TEXT)
        case Padded():
            return Rendered(rendered.sql, Plain.TEXT)
        case ListOf(element=element) if has_forms(element):
            inner = comparable(Rendered(_ELEMENT, element))
            return Rendered(f"transform({rendered.sql}, {_ELEMENT} -> {inner.sql})", ListOf(inner.storage))
        case Shaped(elements=ListOf(element=element)) if has_forms(element):
            elements, shape = parts_of(rendered)
            same = comparable(elements)
            assert isinstance(same.storage, ListOf)
            return Rendered(shaped(rendered.sql, same.sql, shape), Shaped(same.storage))
        case _:
            return rendered


def identity(rendered: Rendered) -> str:
    """What Spark groups by, and orders, so that only identical values are together."""
    match rendered.storage:
        case Plain.FLOAT32 | Plain.FLOAT64:
            return f"named_struct('value', {rendered.sql}, 'negative', {is_negative_zero(rendered)})"
        case ListOf(element=element) if not is_identified(element):
            return f"transform({rendered.sql}, {_ELEMENT} -> {identity(Rendered(_ELEMENT, element))})"
        case Shaped() if not is_identified(rendered.storage):
            elements, shape = parts_of(rendered)
            return shaped(rendered.sql, identity(elements), shape)
        case _:
            return rendered.sql


def is_identified(storage: Storage) -> bool:
    """Whether Spark itself groups identical values alone."""
    match storage:
        case ListOf(element=element) | Shaped(elements=ListOf(element=element)):
            return is_identified(element)
    return storage not in _FLOATS


def is_negative_zero(rendered: Rendered) -> str:
    """Whether a float is -0; never NULL."""
    return f"coalesce({rendered.sql} = 0 AND CAST({rendered.sql} AS STRING) = '-0.0', FALSE)"


def least(rendered: Rendered, condition: str = "TRUE") -> str:
    """The aggregate min, whichever order rows come in; `condition` says which rows count."""
    return _extreme("min", rendered, condition)


def greatest(rendered: Rendered, condition: str = "TRUE") -> str:
    """The aggregate max, whichever order rows come in."""
    return _extreme("max", rendered, condition)


def _extreme(name: str, rendered: Rendered, condition: str) -> str:
    """The least or the greatest, and of equal values the least or greatest by what tells them apart."""
    if not has_forms(rendered.storage):
        return f"{name}(CASE WHEN {condition} THEN {rendered.sql} END)"
    place = f"named_struct('value', {comparable(rendered).sql}, 'form', {identity(rendered)})"
    known = f"CASE WHEN {condition} AND {rendered.sql} IS NOT NULL THEN {place} END"
    return f"{name}_by({rendered.sql}, {known})"
