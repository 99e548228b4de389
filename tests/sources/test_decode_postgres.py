"""What PostgreSQL sends is decoded to what it holds, whatever the type, the form and the way (G2)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from catalog.errors import ValueNotStorable
from sources.decode.columns import decode_rows
from sources.messages.fields import Layout
from tests.support.capture.decode_cases import CASES, NOT_STORABLE, Case
from tests.support.capture.decoded_rows import WAYS, Laboratory, insert, laboratory, starts_of, told

pytestmark = pytest.mark.service

EXAMPLES = settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow])


@pytest.fixture(scope="module", params=[15, 18])
def place(request: pytest.FixtureRequest) -> Iterator[Laboratory]:
    with laboratory(request.getfixturevalue(f"postgres{request.param}")) as made:
        yield made


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.type)
def test_every_type(place: Laboratory, case: Case) -> None:
    place.make(f"n serial, v {case.type}")

    @EXAMPLES
    @given(st.lists(st.none() | case.written, max_size=12))
    def check(values: list[str | None]) -> None:
        place.forget()
        insert(place.connection, case, values)
        rows = place.connection.execute(f"SELECT {case.selected()} FROM t ORDER BY n".encode())
        expected = [value for (value,) in rows]
        for way in WAYS:
            decoded = place.decode(way)
            assert told(decoded.arrays[1]) == expected, way
            assert decoded.unchanged == (None, None)

    check()


@pytest.mark.parametrize(("type", "value", "in_15"), NOT_STORABLE)
def test_what_cannot_be_stored_names_its_column(
    place: Laboratory, type: str, value: str, in_15: bool
) -> None:
    if not in_15 and place.connection.info.server_version < 170000:
        return
    place.make(f'"the column" {type}')
    place.connection.execute(f"INSERT INTO t VALUES (NULL), ('{value}')".encode())
    for way in WAYS:
        with pytest.raises(ValueNotStorable, match='a value of column "the column" cannot be stored'):
            place.decode(way)


@pytest.mark.parametrize("binary", [True, False])
def test_an_unchanged_value_out_of_line_is_told_from_null(place: Laboratory, binary: bool) -> None:
    place.make("n int4 PRIMARY KEY, long text, v text")
    place.connection.execute("ALTER TABLE t ALTER long SET STORAGE EXTERNAL")
    place.connection.execute("INSERT INTO t SELECT n, repeat('x', 9000) FROM generate_series(1, 3) n")
    place.discard_changes()
    place.connection.execute("UPDATE t SET long = CASE n WHEN 2 THEN 'short' ELSE long END")
    updates = [message for message in place.changes(binary=binary) if message[:1] == b"U"]
    decoded = decode_rows(b"".join(updates), starts_of(updates, 6), place.columns(), Layout.PGOUTPUT)
    assert [array.to_pylist() for array in decoded.arrays] == [
        [1, 2, 3],
        [None, "short", None],
        [None] * 3,
    ]
    assert decoded.unchanged[1] is not None
    assert decoded.unchanged[1].tolist() == [True, False, True]
    assert (decoded.unchanged[0], decoded.unchanged[2]) == (None, None)


@pytest.mark.parametrize("binary", [True, False])
def test_the_old_row_is_followed_by_the_new_one(place: Laboratory, binary: bool) -> None:
    place.make("n int4, long text, v numeric(5,2)")
    place.connection.execute("ALTER TABLE t REPLICA IDENTITY FULL")
    place.connection.execute(
        "INSERT INTO t SELECT n, repeat('x', 9000), n / 4.0 FROM generate_series(1, 3) n"
    )
    place.discard_changes()
    place.connection.execute("UPDATE t SET n = n + 10, v = NULL WHERE n > 1")
    updates = b"".join(changes := [it for it in place.changes(binary=binary) if it[:1] == b"U"])
    old = decode_rows(updates, starts_of(changes, 6), place.columns(), Layout.PGOUTPUT)
    new = decode_rows(updates, old.ends + 1, place.columns(), Layout.PGOUTPUT)
    assert told(old.arrays[0]) == ["2", "3"]
    assert told(old.arrays[1]) == ["x" * 9000] * 2
    assert told(old.arrays[2]) == ["0.5", "0.75"]
    assert told(new.arrays[0]) == ["12", "13"]
    assert told(new.arrays[2]) == [None, None]
    assert old.unchanged == (None, None, None)


def test_a_row_as_wide_as_they_get(place: Laboratory) -> None:
    place.make(", ".join(f"c{n} int2" for n in range(1600)))
    place.connection.execute(f"INSERT INTO t VALUES ({', '.join(map(str, range(1600)))})".encode())
    for way in WAYS:
        assert [told(array) for array in place.decode(way).arrays] == [[str(n)] for n in range(1600)]


def test_a_table_without_columns(place: Laboratory) -> None:
    place.make("")
    place.connection.execute("INSERT INTO t DEFAULT VALUES; INSERT INTO t DEFAULT VALUES")
    for way in WAYS:
        decoded = place.decode(way)
        assert (decoded.arrays, len(decoded.ends)) == ((), 2)
