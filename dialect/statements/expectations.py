"""The texts of EXPECT: how many rows are expected of which table."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from catalog.errors import InvalidParameterValue
from catalog.postgres.schema import TableName

ACCEPTED: Final = "rows for each table, such as 'orders 1000000, lineitem 4000000'"
"""What EXPECT takes, in words."""

_NAME: Final = r'("(?:[^"]|"")+"|[^\s".,]+)'
_PART: Final = re.compile(rf"\s*(?:{_NAME}\s*\.\s*)?{_NAME}\s+(\d+)\s*", re.ASCII)
_MOST_ROWS: Final = 2**63 - 1
_SEPARATOR: Final = re.compile(r',(?=(?:[^"]*"[^"]*")*[^"]*$)')


@dataclass(frozen=True, slots=True)
class Expectation:
    """Rows expected of a table until the trigger; without a schema, of every table of the name."""

    schema: str | None
    name: str
    rows: int

    def is_about(self, table: TableName) -> bool:
        """Whether this table is meant."""
        return self.name == table.name and self.schema in (None, table.schema)


def read_expectations(text: str) -> str:
    """Canonical text of `[schema.]table rows [, …]`; ValueError for anything else."""
    parts = (part.groups() for part in _parts(text))
    return ", ".join(f"{schema + '.' if schema else ''}{name} {int(rows)}" for schema, name, rows in parts)


def parse_expectations(text: str) -> tuple[Expectation, ...]:
    """The expectations that a value of EXPECT states."""
    parts = (part.groups() for part in _parts(text))
    return tuple(
        Expectation(schema and _folded(schema), _folded(name), int(rows)) for schema, name, rows in parts
    )


def rows_expected(text: str | None, tables: Iterable[TableName]) -> dict[TableName, int]:
    """The rows that a text, if there is one, states of these tables; what it says last counts."""
    expectations = parse_expectations(text) if text is not None else ()
    return {
        table: expectation.rows
        for table in tables
        for expectation in expectations
        if expectation.is_about(table)
    }


def check_expectations(text: str, tables: Collection[TableName], position: int | None) -> None:
    """Refuse what is expected of a table that a query does not read."""
    read = sorted(f"{table.schema}.{table.name}" for table in tables)
    for expected in parse_expectations(text):
        if not any(expected.is_about(table) for table in tables):
            raise InvalidParameterValue(
                f'EXPECT names "{expected.name}", which the query does not read',
                hint=f"It reads {', '.join(read) or 'no table'}. EXPECT takes {ACCEPTED}.",
                position=position,
            )


def _parts(text: str) -> Iterator[re.Match[str]]:
    for part in _SEPARATOR.split(text):
        match = _PART.fullmatch(part)
        if match is None or int(match[3]) > _MOST_ROWS:
            raise ValueError(part)
        yield match


def _folded(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name.lower()
