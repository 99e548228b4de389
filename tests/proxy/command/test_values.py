from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import UUID

import pytest

from proxy.command.output.table import properties_of, table_of, table_text
from proxy.command.output.values import as_json, bytes_text, cell_text, json_text, seconds_text, share_text

NOON = datetime(2026, 1, 2, 12, 0, 0, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (True, "yes"),
        (False, "no"),
        (0.123456, "0.123"),
        (1234567, "1234567"),
        (NOON, "2026-01-02 12:00:00+00:00"),
        (timedelta(days=1, hours=2, seconds=0.4), "1 day, 2:00:00"),
        (["a", "b"], "a, b"),
        ("[bold]x[/bold]", "[bold]x[/bold]"),
        (Decimal("1.50"), "1.50"),
    ],
)
def test_cells(value: object, text: str) -> None:
    assert cell_text(value) == text


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (None, ""),
        (0, "0 bytes"),
        (10239, "10239 bytes"),
        (10240, "10 kB"),
        (4 << 30, "4096 MB"),
        (20 << 30, "20 GB"),
        (1 << 60, "1048576 TB"),
    ],
)
def test_sizes_are_written_as_postgresql_writes_them(amount: int | None, text: str) -> None:
    assert bytes_text(amount) == text


def test_shares_and_seconds() -> None:
    assert (share_text(0.05), share_text(2.5), share_text(None)) == ("5 %", "250 %", "")
    assert (seconds_text(0.03456), seconds_text(None)) == ("0.0346 s", "")


@dataclass(frozen=True, slots=True)
class Several:
    at: datetime
    long: timedelta
    id: UUID
    number: Decimal


def test_json_has_numbers_as_numbers() -> None:
    id = UUID(int=1)
    found = json.loads(json_text([Several(NOON, timedelta(seconds=1.5), id, Decimal("0.5"))]))
    assert found == [{"at": NOON.isoformat(), "long": 1.5, "id": str(id), "number": 0.5}]
    with pytest.raises(TypeError):
        as_json(object())


def test_a_table_is_as_psql_prints_it() -> None:
    table = table_of(("name", "rows"), [("a", 1), ("[b]", 200), ("line\nbreak", None)], ("rows",))
    assert table_text(table) == "name  | rows\n------+-----\na     |    1\n[b]   |  200\nline  |\nbreak |"


def test_a_wide_table_is_not_broken_where_nobody_sees_it() -> None:
    assert len(table_text(table_of(("a",), [("x" * 500,)])).splitlines()) == 3


def test_properties_stand_below_each_other() -> None:
    assert table_text(properties_of({"Name": "q", "Late by": None})) == "Name     q\nLate by"
