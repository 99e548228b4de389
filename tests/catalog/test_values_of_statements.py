"""How dataclasses become the values of a statement."""

from __future__ import annotations

from catalog.queries.arrangements import ArrangementRow
from catalog.rows import named


def test_sequences_are_arrays_whatever_they_are() -> None:
    """Psycopg writes a tuple as a row, which is no array."""
    row = ArrangementRow("table-1", ["a1"], ("a1", "a2"), False, "no room", 0, 0, 0, 0, None, 0, None)
    values = named(row)
    assert values["key"] == ["a1"]
    assert values["columns"] == ["a1", "a2"]
    assert isinstance(values["columns"], list)
