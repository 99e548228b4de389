"""Rows made by hand, decoded: NULL, unchanged, both forms mixed, sizes, and bytes that are no rows (G2)."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.errors import Error, ProtocolViolation, ValueNotStorable
from catalog.postgres.storage import (
    FREE_NUMERIC,
    Decimal,
    ListOf,
    Plain,
    Shaped,
    Storage,
    StoredColumn,
    stored_column,
)
from catalog.postgres.types import BPCHAR, INT4, NUMERIC, TEXT, TIMESTAMP, UUID, SqlType
from sources.decode.arrow import arrow_type, columns_with_bounds
from sources.decode.columns import BLOCK_ROWS, Decoded, decode_rows
from sources.messages.fields import Layout
from tests.support.capture.decoded_rows import starts_of, stored

NULL, UNCHANGED = (b"n", b""), (b"u", b"")
NUMBER = stored_column("number", SqlType(INT4), {})
WORD = stored_column("word", SqlType(TEXT), {})
PRICE = stored_column("price", SqlType(NUMERIC, ((15 << 16) | 2) + 4), {})
KEY = stored_column("key", SqlType(UUID), {})
WORDS = StoredColumn("words", SqlType(1009), ListOf(Plain.TEXT), WORD)
MOMENT = stored_column("moment", SqlType(TIMESTAMP), {})
NUMBERS = StoredColumn("numbers", SqlType(1007), ListOf(Plain.INT32), NUMBER)
Field = tuple[bytes, bytes]


def number(value: int, form: bytes = b"b") -> Field:
    return form, struct.pack(">i", value) if form == b"b" else str(value).encode()


def numeric(sign: int, weight: int, *digits: int) -> Field:
    return b"b", struct.pack(f">hhHh{len(digits)}H", len(digits), weight, sign, 0, *digits)


def array(*elements: bytes | None) -> Field:
    parts = [struct.pack(">i", -1) if it is None else struct.pack(">i", len(it)) + it for it in elements]
    head = struct.pack(">5i", 1, int(None in elements), TEXT, len(elements), 1)
    return b"b", (head if elements else struct.pack(">3i", 0, 0, TEXT)) + b"".join(parts)


def pgoutput(fields: Sequence[Field]) -> bytes:
    parts = [
        kind + (struct.pack(">i", len(value)) + value if kind in b"tb" else b"") for kind, value in fields
    ]
    return struct.pack(">h", len(fields)) + b"".join(parts)


def decode(columns: Sequence[StoredColumn], *rows: Sequence[Field]) -> Decoded:
    written = [pgoutput(row) for row in rows]
    return stored(decode_rows(b"".join(written), starts_of(written, 0), columns, Layout.PGOUTPUT), columns)


def column(of: StoredColumn, *fields: Field) -> list[object]:
    found: list[object] = decode([of], *([field] for field in fields)).arrays[0].to_pylist()
    return found


def test_both_forms_in_one_column() -> None:
    fields = [number(1), number(-2, b"t"), NULL, number(3, b"t"), number(-4), UNCHANGED, number(5)]
    decoded = decode([NUMBER], *([field] for field in fields))
    assert decoded.arrays[0].to_pylist() == [1, -2, None, 3, -4, None, 5]
    assert decoded.unchanged[0] is not None
    assert decoded.unchanged[0].tolist() == [False] * 5 + [True, False]


@given(st.lists(st.sampled_from([NULL, UNCHANGED, (b"t", b""), (b"t", "é".encode()), (b"b", b"word")])))
def test_every_mixture_of_kinds(fields: list[Field]) -> None:
    decoded = decode([WORD, NUMBER], *([field, number(7)] for field in fields))
    expected = [value.decode() if kind in b"tb" else None for kind, value in fields]
    assert decoded.arrays[0].to_pylist() == expected
    assert decoded.arrays[1].to_pylist() == [7] * len(fields)
    unchanged = [kind == b"u" for kind, _ in fields]
    mask = decoded.unchanged[0]
    assert ([False] * len(fields) if mask is None else mask.tolist()) == unchanged


def test_more_rows_than_a_block() -> None:
    rows = [[number(n) if n % 5 else NULL, (b"t", b"w" * (n % 7))] for n in range(2 * BLOCK_ROWS + 3)]
    rows[BLOCK_ROWS + 1][1] = UNCHANGED
    decoded = decode([NUMBER, WORD], *rows)
    assert decoded.arrays[0].to_pylist() == [n if n % 5 else None for n in range(len(rows))]
    assert decoded.arrays[1].slice(BLOCK_ROWS, 3).to_pylist() == [
        "w" * (BLOCK_ROWS % 7),
        None,
        "w" * ((BLOCK_ROWS + 2) % 7),
    ]
    assert decoded.unchanged[0] is None
    assert decoded.unchanged[1] is not None
    assert np.flatnonzero(decoded.unchanged[1]).tolist() == [BLOCK_ROWS + 1]
    assert len(decoded.ends) == len(rows)


def test_a_row_may_follow_another_in_one_message() -> None:
    """The old row and the new one of an UPDATE: where the first ends is where the second is looked for."""
    message = b"U....O" + pgoutput([number(1)]) + b"N" + pgoutput([number(2)])
    starts = np.array([6, 6 + len(message)])
    old = decode_rows(message * 2, starts, [NUMBER], Layout.PGOUTPUT)
    new = decode_rows(message * 2, old.ends + 1, [NUMBER], Layout.PGOUTPUT)
    assert old.arrays[0].to_pylist() == [1, 1]
    assert new.arrays[0].to_pylist() == [2, 2]


@pytest.mark.parametrize("layout", Layout)
def test_no_rows_no_columns_many_columns(layout: Layout) -> None:
    nothing = np.zeros(0, np.int64)
    assert [len(it) for it in decode_rows(b"", nothing, [NUMBER, WORDS], layout).arrays] == [0, 0]
    assert decode_rows(b"\0\0\0\0", np.array([0, 2]), [], layout).arrays == ()
    field = b"" if layout is Layout.COPY else b"b"
    row = struct.pack(">h", 1600) + b"".join(field + struct.pack(">ii", 4, n) for n in range(1600))
    wide = decode_rows(row, np.array([0]), [NUMBER] * 1600, layout)
    assert [it.to_pylist() for it in wide.arrays] == [[n] for n in range(1600)]


def test_an_empty_text_is_not_null() -> None:
    assert column(WORD, (b"b", b""), NULL, (b"t", b"")) == ["", None, ""]


def test_blanks_at_the_end_are_padding_in_bpchar_alone() -> None:
    padded = stored_column("padded", SqlType(BPCHAR, 8), {})
    assert column(padded, (b"b", b" a\t  "), (b"t", b"b  "), (b"b", b"   ")) == [" a\t", "b", ""]
    free = stored_column("free", SqlType(BPCHAR), {})
    assert column(free, (b"b", b" a\t  "), (b"t", b"b  "), (b"b", b"   ")) == [" a\t  ", "b  ", "   "]
    assert column(WORD, (b"b", b"a  ")) == ["a  "]


@pytest.mark.parametrize(
    "value", ["9999999999999.99", "-9999999999999.99", "0.01", "-0.10", "0", "10000", "99990000", "-1234.5"]
)
def test_a_decimal_has_every_digit(value: str) -> None:
    whole, _, fraction = value.lstrip("-").partition(".")
    padded = whole.rjust(16, "0") + fraction.ljust(4, "0")
    digits = [int(padded[n : n + 4]) for n in range(0, len(padded), 4)]
    leading = next((n for n, digit in enumerate(digits) if digit), 5)
    while digits and not digits[-1]:
        digits.pop()
    sign = 0x4000 if value.startswith("-") else 0
    (found,) = column(PRICE, numeric(sign, 3 - leading if digits else 0, *digits[leading:]))
    assert f"{found}" == f"{pa.scalar(value).cast(pa.decimal128(15, 2)).as_py()}"


@pytest.mark.parametrize(
    "field",
    [
        numeric(0xC000, 0),
        numeric(0xD000, 0),
        numeric(0xF000, 0),
        numeric(0, 3, 10),
        numeric(0, 4, 1),
        numeric(0, 32767, 1),
        numeric(0, -1, 1),
        numeric(0, -2, 1),
        numeric(0x4000, -32768, 1),
        numeric(0, 0, 1, 1050),
    ],
)
def test_a_numeric_is_never_rounded(field: Field) -> None:
    with pytest.raises(ValueNotStorable, match='column "price"'):
        column(PRICE, numeric(0, 0, 1), field)


def test_lists() -> None:
    assert column(WORDS, array(b"a", None, b""), NULL, array(), array(b"bcd")) == [
        ["a", None, ""],
        None,
        [],
        ["bcd"],
    ]
    ones = [struct.pack(">i", n) for n in range(1000)]
    assert column(NUMBERS, array(*ones), array(), array(ones[1], None)) == [list(range(1000)), [], [1, None]]


def grid(lengths: Sequence[int], lows: Sequence[int], *elements: int | None) -> Field:
    head = struct.pack(">3i", len(lengths), 0, INT4)
    head += b"".join(struct.pack(">2i", *pair) for pair in zip(lengths, lows, strict=True))
    return b"b", head + b"".join(
        struct.pack(">i", -1) if element is None else struct.pack(">2i", 4, element) for element in elements
    )


def test_arrays_of_any_shape() -> None:
    squares = StoredColumn("squares", SqlType(1007), Shaped(ListOf(Plain.INT32)), NUMBER)
    expected = [
        {"elements": [1, 2, 3, 4, 5, None], "shape": [2, 2, 3, 1, 1]},
        None,
        {"elements": [], "shape": [0]},
        {"elements": [7], "shape": [1, 1, 1]},
        {"elements": [8, 9], "shape": [1, 2, -1]},
        {"elements": [1, 2, 3, 4], "shape": [3, 1, 2, 2, 0, 1, 2]},
    ]
    binary = (
        grid([2, 3], [1, 1], 1, 2, 3, 4, 5, None),
        NULL,
        grid([], []),
        grid([1], [1], 7),
        grid([2], [-1], 8, 9),
        grid([1, 2, 2], [0, 1, 2], 1, 2, 3, 4),
    )
    assert column(squares, *binary) == expected
    texts = (
        b"{{1,2,3},{4,5,NULL}}",
        None,
        b"{}",
        b"{7}",
        b"[-1:0]={8,9}",
        b"[0:0][1:2][2:3]={{{1,2},{3,4}}}",
    )
    assert column(squares, *(NULL if text is None else (b"t", text) for text in texts)) == expected
    words = StoredColumn("words", SqlType(1009), Shaped(ListOf(Plain.TEXT)), WORD)
    odd = rb'{{"a,}","{"},{"\"","NULL"}}'
    assert column(words, (b"t", odd)) == [{"elements": ["a,}", "{", '"', "NULL"], "shape": [2, 2, 2, 1, 1]}]


@pytest.mark.parametrize(
    "field",
    [grid([2, 2], [1, 1], 1, 2, 3), grid([-1], [1]), grid([1] * 7, [1] * 7, 1), grid([2**30] * 3, [1] * 3)],
)
def test_an_array_whose_shape_cannot_be(field: Field) -> None:
    squares = StoredColumn("squares", SqlType(1007), Shaped(ListOf(Plain.INT32)), NUMBER)
    with pytest.raises(ProtocolViolation):
        column(squares, field)


def test_a_column_with_room_for_what_is_no_number() -> None:
    type_ = SqlType(NUMERIC, PRICE.type.typmod, wide=True)
    found = column(
        stored_column("price", type_, {}), numeric(0xC000, 0), numeric(0, 0, 12), numeric(0xF000, 0)
    )
    assert [value["text"] for value in found if isinstance(value, dict)] == ["NaN", "12", "-Infinity"]


@pytest.mark.parametrize(
    ("of", "field", "told"),
    [
        (PRICE, numeric(0xC000, 0), "NaN"),
        (PRICE, numeric(0, 19, *[1234] * 20), "1234" * 15 + "..."),
        (NUMBERS, grid([2, 2], [1, 1], 1, 2, 3, 4), "{{1,2},{3,4}}"),
        (NUMBERS, grid([2], [0], 1, None), "[0:1]={1,NULL}"),
        (NUMBERS, (b"t", b"[0:1]={1,2}"), "[0:1]={1,2}"),
        (MOMENT, (b"b", struct.pack(">q", 2**63 - 2)), "294277-01-09 04:00:54.775806"),
        (NUMBER, (b"t", b"one"), "one"),
    ],
)
def test_a_value_that_cannot_be_stored_is_shown(of: StoredColumn, field: Field, told: str) -> None:
    with pytest.raises(ValueNotStorable) as raised:
        column(of, field)
    assert str(raised.value.detail).endswith(f" The value is {told}.")


@pytest.mark.parametrize(
    ("of", "field"),
    [
        (NUMBER, (b"b", b"\0\0\1")),
        (NUMBER, (b"b", b"\0\0\0\0\1")),
        (NUMBER, (b"x", b"")),
        (PRICE, (b"b", b"")),
        (PRICE, (b"b", struct.pack(">hhHh", -4, 0, 0, 0))),
        (PRICE, (b"b", struct.pack(">hhHh", 1, 0, 0, 0))),
        (PRICE, numeric(0, 0, 10_000)),
        (KEY, (b"b", b"\0" * 15)),
        (WORDS, (b"b", struct.pack(">3i", 0, 0, 25)[:11])),
        (WORDS, (b"b", struct.pack(">5i", 1, 0, 25, 2**31 - 1, 1))),
        (WORDS, (b"b", struct.pack(">5i", 1, 0, 25, -1, 1))),
        (WORDS, (b"b", array(b"ab")[1][:-1])),
        (WORDS, (b"b", array(b"ab")[1] + b"c")),
        (WORDS, (b"b", array()[1] + b"c")),
        (WORDS, (b"b", array(b"ab", None)[1][:-8] + struct.pack(">i", -2) + b"1234")),
    ],
)
def test_a_value_that_cannot_be(of: StoredColumn, field: Field) -> None:
    with pytest.raises(ProtocolViolation):
        decode([of, WORD], [field, (b"b", b"what follows in the row is none of its business")])


@pytest.mark.parametrize("text", [b"\xff", b"\xc3", b"\xed\xa0\x80"])
def test_texts_are_valid(text: bytes) -> None:
    for form in (b"b", b"t"):
        with pytest.raises(ValueNotStorable, match='column "word"'):
            column(WORD, (b"b", b"fine"), (form, text))
    with pytest.raises(ValueNotStorable, match='column "words"'):
        column(WORDS, array(text))


@pytest.mark.parametrize("text", [b"", b"1.5", b"99999999999", b"one", b" 1"])
def test_text_that_is_no_number(text: bytes) -> None:
    with pytest.raises(ValueNotStorable, match='column "number"'):
        column(NUMBER, number(1), (b"t", text))


ROW = [number(7), (b"b", b"some words"), numeric(0, 1, 12, 3456), array(b"a", None), (b"b", bytes(range(16)))]
ROW_COLUMNS = [NUMBER, WORD, PRICE, WORDS, KEY]


@pytest.mark.parametrize("cut", range(1, len(pgoutput(ROW))))
def test_a_row_that_is_cut_off(cut: int) -> None:
    whole = pgoutput(ROW)
    for starts, data in (
        ([0], whole[:cut]),
        ([0, len(whole)], whole + whole[:cut]),
        ([0, cut], whole[:cut] + whole),
    ):
        with pytest.raises(ProtocolViolation):
            decode_rows(data, np.array(starts), ROW_COLUMNS, Layout.PGOUTPUT)


@pytest.mark.parametrize("columns", [ROW_COLUMNS[:-1], [*ROW_COLUMNS, NUMBER], []])
def test_another_number_of_fields(columns: Sequence[StoredColumn]) -> None:
    with pytest.raises(ProtocolViolation, match="number of fields"):
        decode(columns, ROW)


@given(st.data())
def test_any_bytes_give_rows_or_an_error(data: st.DataObject) -> None:
    octets = bytearray(pgoutput(ROW) * 3)
    for place in data.draw(st.lists(st.integers(0, len(octets) - 1), min_size=1, max_size=4)):
        octets[place] = data.draw(st.integers(0, 255))
    starts = np.arange(3) * len(pgoutput(ROW))
    try:
        decoded = decode_rows(bytes(octets), starts, ROW_COLUMNS, Layout.PGOUTPUT)
    except Error:
        return
    for found in decoded.arrays:
        found.validate(full=True)


@pytest.mark.parametrize("storage", [*Plain, Decimal(38, 0), ListOf(Plain.DATE), FREE_NUMERIC])
def test_every_storage_has_an_arrow_type(storage: Storage) -> None:
    assert isinstance(arrow_type(storage), pa.DataType)


def test_bounds_are_told_of_what_has_an_order() -> None:
    storages: tuple[Storage, ...] = (
        Plain.FLOAT32,
        Plain.FLOAT64,
        ListOf(Plain.INT16),
        Plain.INTERVAL,
        Plain.DATE,
        Decimal(5, 1),
    )
    schema = pa.schema({f"c{number}": arrow_type(storage) for number, storage in enumerate(storages)})
    assert columns_with_bounds(schema) == ["c4", "c5"]
