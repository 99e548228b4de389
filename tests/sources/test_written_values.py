"""Numerics beside their texts, as they are decoded, bounded and published; no service is needed."""

from __future__ import annotations

import struct
from decimal import Decimal as Number

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.capture.batch import Bounds
from catalog.postgres.storage import FREE_NUMERIC, Decimal, ListOf, Plain, StoredColumn, Written
from catalog.postgres.types import NUMERIC, SqlType
from coordinator.publish.copy_rows import as_csv
from sources.decode.arrow import arrow_type
from sources.decode.binary import decode_binary
from sources.decode.text import decode_text
from sources.decode.written_numeric import number_texts
from sources.messages.octets import Octets, Values
from sources.warehouse.bounds import bounds_of

COLUMN = StoredColumn("c", SqlType(NUMERIC), FREE_NUMERIC)
SPECIAL = {"NaN": 0xC000, "Infinity": 0xD000, "-Infinity": 0xF000}
ONES = {"value": Number("1.000000000000000000"), "text": "1.00"}


def sent(text: str) -> bytes:
    """As PostgreSQL sends it in binary form."""
    if text in SPECIAL:
        return struct.pack(">hhHh", 0, 0, SPECIAL[text], 0)
    before, _, behind = text.removeprefix("-").partition(".")
    scale = len(behind)
    before = before.lstrip("0")
    before = before.rjust(-(-len(before) // 4) * 4, "0")
    behind = behind.ljust(-(-len(behind) // 4) * 4, "0")
    digits = before + behind
    words = [int(digits[place : place + 4]) for place in range(0, len(digits), 4)]
    weight = len(before) // 4 - 1
    while words and words[0] == 0:
        words, weight = words[1:], weight - 1
    while words and words[-1] == 0:
        words = words[:-1]
    weight = weight if words else 0
    sign = 0x4000 if text.startswith("-") and words else 0
    return struct.pack(f">hhHh{len(words)}H", len(words), weight, sign, scale, *words)


def values(parts: list[bytes]) -> Values:
    lengths = np.array([len(part) for part in parts], np.int64)
    return Values(Octets(b"".join(parts)), np.cumsum(lengths) - lengths, lengths)


NUMBERS = (
    st.builds(
        "{}{}{}".format,
        st.sampled_from(["", "-"]),
        st.from_regex("0|[1-9][0-9]{0,59}", fullmatch=True),
        st.just("") | st.from_regex(r"\.[0-9]{1,40}", fullmatch=True),
    ).filter(lambda text: not text.startswith("-") or Number(text) != 0)
    | st.sampled_from([*SPECIAL])
    | st.decimals(-1000, 1000, places=3).filter(bool).map(lambda number: f"{number:f}")
)


@given(st.lists(NUMBERS, min_size=1, max_size=8))
def test_both_forms_give_the_number_and_its_text(texts: list[str]) -> None:
    for decoded in (
        decode_binary(COLUMN, values([sent(text) for text in texts])),
        decode_text(COLUMN, values([text.encode() for text in texts])),
    ):
        decoded.validate(full=True)
        assert decoded.type == arrow_type(FREE_NUMERIC)
        for text, found in zip(texts, decoded.to_pylist(), strict=True):
            number = Number(text)
            assert found["text"] == text
            before, _, behind = text.lstrip("-").partition(".")
            fits = number.is_finite() and len(before) <= 20 and len(behind.rstrip("0")) <= 18
            assert (found["value"] is not None) is fits
            assert found["value"] is None or found["value"] == number


@given(st.lists(st.tuples(st.integers(-(10**20), 10**20), st.integers(0, 30)), min_size=1))
def test_texts_have_so_many_digits(rows: list[tuple[int, int]]) -> None:
    numbers = pa.array([Number(number).scaleb(-2) for number, _ in rows], pa.decimal128(38, 18))
    scales = np.array([max(2, scale) for _, scale in rows])
    found = number_texts(numbers, scales).to_pylist()
    assert found == [f"{Number(number).scaleb(-2):.{max(2, scale)}f}" for number, scale in rows]


def test_bounds_are_known_where_every_number_has_a_decimal() -> None:
    column = pa.chunked_array(
        [pa.array([ONES, None, {"value": Number(-3), "text": "-3"}], arrow_type(FREE_NUMERIC))]
    )
    assert bounds_of(column) == Bounds("-3.000000000000000000", "1.000000000000000000", True)
    others = pa.array([ONES, {"value": None, "text": "NaN"}], arrow_type(FREE_NUMERIC))
    assert bounds_of(pa.chunked_array([others])) is None


@pytest.mark.parametrize(
    ("storage", "rows", "written"),
    [
        (FREE_NUMERIC, [ONES, None, {"value": None, "text": "NaN"}], '"1.00"\n\n"NaN"\n'),
        (ListOf(FREE_NUMERIC), [[ONES, None], []], '"{""1.00"",NULL}"\n"{}"\n'),
        (Written(Plain.INT32), [{"value": 7, "text": None}, {"value": 8, "text": "08"}], '"7"\n"08"\n'),
    ],
)
def test_the_text_is_published(storage: Written | ListOf, rows: list[object], written: str) -> None:
    table = pa.table({"c": pa.array(rows, arrow_type(storage))})
    assert as_csv(table).to_pybytes().decode() == written


@pytest.mark.parametrize(
    ("infinite", "written"),
    [(True, '"infinity"\n'), (False, '"2147483647 mons 2147483647 days 9223372036854775807 microseconds"\n')],
)
def test_the_largest_interval_is_infinite_where_intervals_may_be(infinite: bool, written: str) -> None:
    largest = {"months": 2**31 - 1, "days": 2**31 - 1, "microseconds": 2**63 - 1}
    table = pa.table({"c": pa.array([largest], arrow_type(Plain.INTERVAL))})
    assert as_csv(table, infinite_intervals=infinite).to_pybytes().decode() == written


def test_a_column_of_more_digits_than_a_decimal_keeps_texts() -> None:
    assert arrow_type(Decimal(0, 0)) == pa.decimal128(1, 0)
