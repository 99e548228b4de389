"""Values that cannot be stored: NULL lies in their place, and their rows say so."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

import pyarrow as pa

UNSTORABLE: Final = "unstorable"
"""The column of a batch that has, for each row with such values, the reasons by their columns, as JSON."""


def reasons_of(rows: int, columns: Mapping[str, pa.Array | None]) -> pa.Array | None:
    """That column, made of the reasons in each column of the rows; None where there are none."""
    by_row: defaultdict[int, dict[str, str]] = defaultdict(dict)
    for name, reasons in columns.items():
        if reasons is not None:
            for row, reason in enumerate(reasons.to_pylist()):
                if reason is not None:
                    by_row[row][name] = reason
    if not by_row:
        return None
    texts = [json.dumps(by_row[row], sort_keys=True) if row in by_row else None for row in range(rows)]
    return pa.array(texts, pa.string())


def with_reasons(table: pa.Table, reasons: pa.Array | None) -> pa.Table:
    """The rows with that column, if there is one."""
    return table if reasons is None else table.append_column(UNSTORABLE, reasons)


def alike(tables: Sequence[pa.Table]) -> list[pa.Table]:
    """Tables that all have that column, or none."""
    if not any(UNSTORABLE in table.column_names for table in tables):
        return list(tables)
    return [
        table
        if UNSTORABLE in table.column_names
        else with_reasons(table, pa.nulls(table.num_rows, pa.string()))
        for table in tables
    ]


def unstorable_of(table: pa.Table, weight: str) -> dict[str, tuple[int, str]]:
    """For each column with values that cannot be stored, the sum of their weights, and why one cannot."""
    if UNSTORABLE not in table.column_names:
        return {}
    sums: dict[str, tuple[int, str]] = {}
    pairs = zip(table.column(UNSTORABLE).to_pylist(), table.column(weight).to_pylist(), strict=True)
    for text, times in pairs:
        for name, reason in (json.loads(text) if text else {}).items():
            count, _reason = sums.get(name, (0, ""))
            sums[name] = count + times, reason
    return sums


def joined(parts: Sequence[pa.Array | None], lengths: Sequence[int]) -> pa.Array | None:
    """The reasons of all, one after the other; None where there are none."""
    if all(part is None for part in parts):
        return None
    texts = [
        pa.nulls(length, pa.string()) if part is None else part
        for part, length in zip(parts, lengths, strict=True)
    ]
    return pa.concat_arrays(texts)
