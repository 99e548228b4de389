"""Rows that are only passed on, which takes no engine."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from executors.executor import InMemory, Outcome, Part
from executors.rows import WEIGHT, Schema, arrow_schema, name_of, summed
from planner.firing.passed import Passed


def pass_on(passed: Passed, parts: Sequence[Part], schema: Schema) -> Outcome | None:
    """The change of a buffer as another's; None where it is not in memory, or what is equal is not plain."""
    tables = [part.table for part in parts if isinstance(part, InMemory)]
    target = arrow_schema(schema)
    if not tables or len(tables) < len(parts) or not all(map(_is_plain, target.types)):
        return None
    rows = pa.concat_tables(tables)
    columns = {name_of(new): rows[name_of(old)] for new, old in passed.columns.items()}
    renamed = pa.table({**columns, WEIGHT: rows[WEIGHT]})
    return Outcome(summed(renamed).cast(target), rows.num_rows, 0)


def _is_plain(type: pa.DataType) -> bool:
    """Whether Arrow tells values apart as SQL does: it finds 0 and -0 different, and compares no lists."""
    return not (pa.types.is_floating(type) or pa.types.is_nested(type))
