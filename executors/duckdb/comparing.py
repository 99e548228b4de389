"""A mode for tests: every look-up in an arrangement is compared with a scan of the buffer's batches.

It costs what look-ups save. Rows are compared whose keys are equal by value, not by their hash, and batches
are read from their files, not from what is held of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pyarrow as pa

from catalog.errors import InternalError
from executors.duckdb.compile import LookedUp, consolidated
from executors.rows import WEIGHT, name_of
from executors.sql.nodes import step_view
from executors.sql.relation import Relation

_SHOWN: Final = 3


def require_same(
    step: LookedUp, looked_up: str, scanned: str, select: Callable[[str], pa.Table], place: str
) -> None:
    """Raise an error if two SELECTs have other rows with keys of the step; `place` says where that was."""
    columns = "".join(f"{name_of(column)}, " for column in step.schema)
    both = f"SELECT * FROM ({looked_up}) UNION ALL SELECT {columns}-{WEIGHT} FROM ({scanned})"
    keys = f"SELECT 1 FROM {step_view(step.of)} AS x WHERE {step.same}"
    with_keys = f"SELECT y.* FROM ({both}) AS y WHERE EXISTS ({keys})"
    differing = select(consolidated(Relation(with_keys, step.schema)).sql)
    if differing.num_rows:
        raise InternalError(
            f"what is looked up differs from what a scan finds: {place}",
            detail=f"{differing.num_rows} rows, such as {differing.slice(0, _SHOWN).to_pylist()}; "
            "a negative weight is of rows that are missing.",
        )
