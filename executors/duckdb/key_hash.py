"""What rows are looked up by: a hash that is the same for keys that PostgreSQL takes for equal.

Different keys may have the same hash: what is found is joined by the keys themselves afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from catalog.postgres.storage import Plain, Storage, Written
from dialect.duckdb.equality import comparable
from dialect.duckdb.numbers import converted, has_texts_alone
from dialect.duckdb.rendered import NotWritten, Rendered
from dialect.expressions.storages import comparison_storage

_WIDEST: Final = {
    Plain.INT16: Plain.INT64,
    Plain.INT32: Plain.INT64,
    Plain.FLOAT32: Plain.FLOAT64,
}
_DAYS: Final = (Plain.DATE, Plain.TIMESTAMP)


def hashed_storage(one: Storage, other: Storage) -> Storage:
    """How values that are stored in these ways are stored to be hashed; NotWritten where they cannot be.

    Integers are hashed alike whatever their size, so that one arrangement serves keys of any.
    """
    left, right = (comparable(Rendered("value", storage)).storage for storage in (one, other))
    common = comparison_storage(left, right)
    if common in _DAYS and left != right:
        raise NotWritten("dates beside timestamps")
    return _WIDEST.get(common, common) if isinstance(common, Plain) else common


def key_hash(values: Sequence[tuple[Rendered, Storage]]) -> str:
    """The hash of values, each stored in the given way before."""
    return f"hash({', '.join(_hashed(value, storage) for value, storage in values)})"


def _hashed(value: Rendered, storage: Storage) -> str:
    if has_texts_alone(value) and isinstance(value.storage, Written) and value.storage.value == storage:
        return f"({value.sql}).value"  # one hash for all that have a text alone
    sql = converted(comparable(value), storage).sql
    return f"({sql} + 0.0)" if storage is Plain.FLOAT64 else sql  # -0 as 0
