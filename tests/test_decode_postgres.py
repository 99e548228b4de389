"""What PostgreSQL sends is decoded to what it holds, whatever the type, the form and the way (G2)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from catalog.errors import ValueNotStorable
from tests.decodecases import CASES, NOT_STORABLE, Case
from tests.decoding import WAYS, Laboratory, insert, laboratory, told

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
