"""One of several values, each as it is written: CASE and what is like it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from catalog.postgres.storage import Decimal, Storage, Written
from dialect.expressions.storages import common_storage, comparison_storage
from dialect.spark.equality import comparable
from dialect.spark.numbers.shadows import is_computed, shadow_of
from dialect.spark.numbers.written import (
    converted,
    is_whole,
    is_written_number,
    number_of,
    order_key,
)
from dialect.spark.rendered import Number, Rendered


def alike(values: Sequence[Rendered]) -> tuple[list[Rendered], Storage]:
    """The values stored in one way, and which that is."""
    storage = common_storage([value.storage for value in values])
    return [converted(value, storage) for value in values], storage


def chosen(conditions: Sequence[str], values: Sequence[Rendered]) -> Rendered:
    """The value behind the first condition that is true, else the last one."""
    results, storage = alike(values)
    return _with_number(
        Rendered(_case(conditions, [result.sql for result in results]), storage), conditions, values
    )


def first_known(values: Sequence[Rendered]) -> Rendered:
    """The first value that is not NULL."""
    results, storage = alike(values)
    whole = Rendered(f"coalesce({', '.join(result.sql for result in results)})", storage)
    return _with_number(whole, [f"{_known(value)} IS NOT NULL" for value in values[:-1]], values)


def _known(value: Rendered) -> str:
    """What is NULL where the value is, and no longer than needed."""
    return number_of(value).value.sql if is_written_number(value) and is_whole(value) else value.sql


def _with_number(whole: Rendered, conditions: Sequence[str], values: Sequence[Rendered]) -> Rendered:
    if not is_written_number(whole):
        return whole
    numbers = [number_of(value) for value in values]
    decimals = [number.value.storage for number in numbers]
    common = reduce(comparison_storage, decimals)
    assert isinstance(common, Decimal)
    whole_numbers = all(
        number.whole and isinstance(present, Decimal) and common.holds(present)
        for number, present in zip(numbers, decimals, strict=True)
    )
    amounts = [converted(number.value, common).sql for number in numbers]
    value = Rendered(_case(conditions, amounts), common)
    scale = _case(conditions, [number.scale for number in numbers])
    shadow = None
    if any(map(is_computed, values)) and all(is_computed(value) or is_whole(value) for value in values):
        shadow = _case(conditions, [shadow_of(value) for value in values])
    return Rendered(whole.sql, whole.storage, Number(value, scale, whole_numbers, shadow))


def first_of_equals(function: str, values: Sequence[Rendered], step: int) -> Rendered:
    """greatest or least of values that may be equal though written differently: of those the first."""
    rows = []
    for place, value in enumerate(values):
        row = f"named_struct('key', {_key(value)}, 'place', {place * step}, 'kept', {value.sql})"
        rows.append(f"CASE WHEN {_known(value)} IS NOT NULL THEN {row} END")
    return Rendered(f"({function}({', '.join(rows)})).kept", values[0].storage)


def _key(value: Rendered) -> str:
    match value.storage:
        case Written(value=Decimal() as decimal):
            return order_key(value, decimal)
    return comparable(value).sql


def _case(conditions: Sequence[str], results: Sequence[str]) -> str:
    whens = (f"WHEN {one} THEN {two}" for one, two in zip(conditions, results, strict=False))
    return f"CASE {' '.join(whens)} ELSE {results[-1]} END"
