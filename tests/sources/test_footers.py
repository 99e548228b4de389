"""Bounds that footers tell: those of the rows, or none."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sources.decode.arrow import INTERVAL
from sources.warehouse.bounds import GrowingBounds, bounds_of
from sources.warehouse.footers import bounds_in

WRITTEN = pa.struct([("value", pa.decimal128(20, 2)), ("text", pa.string())])
DECIMALS = st.decimals(-(10**15), 10**15, places=2)
DAYS = st.dates(date(1, 1, 1), date(9999, 12, 31))
MOMENTS = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31))
VALUES = {
    pa.bool_(): st.booleans(),
    pa.int16(): st.integers(-(2**15), 2**15 - 1),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.decimal128(18, 2): DECIMALS,
    pa.decimal128(38, 2): DECIMALS,
    pa.string(): st.text(st.characters(exclude_categories=["Cs"]), max_size=70),
    pa.binary(): st.binary(max_size=5),
    pa.date32(): DAYS,
    pa.timestamp("us"): MOMENTS,
    pa.timestamp("us", "UTC"): MOMENTS.map(lambda moment: moment.replace(tzinfo=UTC)),
    INTERVAL: st.fixed_dictionaries(
        {"months": st.integers(0, 9), "days": st.integers(0, 9), "microseconds": st.integers(0, 9)}
    ),
    pa.list_(pa.int32()): st.lists(st.integers(0, 9), max_size=3),
    WRITTEN: st.one_of(
        st.fixed_dictionaries({"value": DECIMALS, "text": st.none()}),
        st.fixed_dictionaries({"value": st.none(), "text": st.just("NaN")}),
        st.fixed_dictionaries({"value": DECIMALS, "text": st.just("2.500")}),
    ),
}


@given(data=st.data(), rows=st.integers(1, 12), a_group=st.integers(1, 12))
def test_they_are_those_of_the_rows(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, rows: int, a_group: int
) -> None:
    columns = {
        f"c{number}": pa.array(
            data.draw(st.lists(st.one_of(st.none(), values), min_size=rows, max_size=rows)), type
        )
        for number, (type, values) in enumerate(VALUES.items())
    }
    footer = footer_of(tmp_path_factory.mktemp("footers"), pa.table(columns), a_group)
    found, known = bounds_in(footer), {name: bounds_of(pa.chunked_array([columns[name]])) for name in columns}
    written = f"c{len(VALUES) - 1}"
    texts = any(row is not None and row["text"] is not None for row in columns[written].to_pylist())
    expected = {name: ends for name, ends in known.items() if ends is not None}
    if texts:
        expected.pop(written, None)
    assert found == expected


@given(data=st.data(), parts=st.lists(st.integers(0, 5), min_size=1, max_size=4))
def test_parts_together_have_those_of_all_rows(data: st.DataObject, parts: list[int]) -> None:
    floats = {pa.float64(): st.floats(width=32)}
    tables = [
        pa.table(
            {
                f"c{number}": pa.array(
                    data.draw(st.lists(st.one_of(st.none(), values), min_size=rows, max_size=rows)), type
                )
                for number, (type, values) in enumerate({**VALUES, **floats}.items())
            }
        )
        for rows in parts
    ]
    growing, together = GrowingBounds(tables[0].schema, besides=["c0"]), pa.concat_tables(tables)
    for table in tables:
        growing.add(table)
    expected = {name: bounds_of(together.column(name)) for name in together.column_names if name != "c0"}
    assert growing.found() == {name: bounds for name, bounds in expected.items() if bounds is not None}


@pytest.mark.parametrize("value", [math.nan, math.inf, 1.5])
def test_floating_numbers_have_none(tmp_path: Path, value: float) -> None:
    footer = footer_of(tmp_path, pa.table({"c1": pa.array([1.0, value])}), 2)
    assert bounds_in(footer) == {}


def test_what_no_footer_tells_is_not_known(tmp_path: Path) -> None:
    path = tmp_path / "silent.parquet"
    pq.write_table(pa.table({"c1": [1, 2], "c2": [3, 4]}), path, write_statistics=["c2"])
    assert bounds_in(pq.read_metadata(path)).keys() == {"c2"}


def test_what_no_datetime_holds_has_bounds(tmp_path: Path) -> None:
    """PostgreSQL's dates go on for longer than Python's, and some are infinite."""
    days = pa.array([-(2**31), 2**31 - 1], pa.int32()).cast(pa.date32())
    moments = pa.array([-(2**63), 2**63 - 1], pa.int64()).cast(pa.timestamp("us"))
    found = bounds_in(footer_of(tmp_path, pa.table({"c1": days, "c2": moments}), 1))
    assert (found["c1"].least, found["c1"].greatest) == (-(2**31), 2**31 - 1)
    assert (found["c2"].least, found["c2"].greatest) == (-(2**63), 2**63 - 1)


def footer_of(directory: Path, table: pa.Table, a_group: int) -> pq.FileMetaData:
    """Of a file with so many rows in a group, which tells the extremes of all columns."""
    path = directory / "rows.parquet"
    pq.write_table(table, path, row_group_size=a_group, store_schema=False)
    return pq.read_metadata(path)
