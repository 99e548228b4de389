"""Plans have the same fingerprint where they compute the same, whatever classes and columns are called."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any, get_args, get_origin

import pytest

from catalog.postgres.schema import TableName
from catalog.postgres.types import INT4, SqlType
from dialect.expressions.scalar import (
    And,
    ArrayComparison,
    Call,
    Composed,
    Constant,
    Extreme,
    IsDistinct,
    IsNull,
    IsTruth,
    Not,
    Notation,
    Or,
    Reference,
)
from planner.algebra.logical import Field
from planner.delta.fingerprint import KINDS, PARTS, fingerprint
from planner.delta.weighted import (
    Buffer,
    DeltaFilter,
    DeltaPlan,
    Moment,
    NodeBuffer,
    Read,
    Step,
    Subplan,
    TableBuffer,
    Weighted,
)
from tests.planner.test_delta_plans import planned
from tests.support.planning.cases import QUERIES

NAMES = [path.stem for path in sorted(QUERIES.glob("*.bound"))]
OF_TRUTH = (And, Or, Not, IsNull, IsTruth, IsDistinct, ArrayComparison)
"""Their type is boolean."""

A = Field(0, "a", SqlType(INT4))
IS_ONE = Call(65, "=", Notation.OPERATOR, (Reference(0, A.type), Constant("1", A.type)), 0, SqlType(16))
SMALL = DeltaPlan(
    (TableBuffer(0, TableName("public", "t"), (A,), (1,)), NodeBuffer(1, "result", (A,))),
    (Subplan(1, (0,), (Step(0, "result", DeltaFilter(Read(0, Moment.CHANGE, (A,)), IS_ONE)),), "linear"),),
)


def of(delta: DeltaPlan) -> str:
    return fingerprint(delta, (Reference(0, A.type),), 3)


def test_it_is_written_as_it_was() -> None:
    """What stands in the catalogs of users; of another way of writing the version is raised."""
    assert of(SMALL) == "1:283409b3f47d6034e6088a385e9e16eeb6cb0a8c4ec1e611709a0a8b26bfc0fe"


@contextmanager
def renamed(*classes: type) -> Iterator[None]:
    names = [(class_, class_.__name__, class_.__qualname__) for class_ in classes]
    try:
        for class_, name, qualified in names:
            class_.__name__, class_.__qualname__ = f"Former{name}", f"Former{qualified}"
        yield
    finally:
        for class_, name, qualified in names:
            class_.__name__, class_.__qualname__ = name, qualified


def test_a_class_that_is_renamed_changes_nothing() -> None:
    before, shown = of(SMALL), repr(SMALL)
    with renamed(DeltaFilter, Read, Subplan, Call):
        assert repr(SMALL) != shown
        assert of(SMALL) == before


def test_a_column_that_is_renamed_changes_nothing() -> None:
    buffers = tuple(
        replace(buffer, fields=tuple(replace(field, name="b") for field in buffer.fields))
        for buffer in SMALL.buffers
    )
    assert of(replace(SMALL, buffers=buffers)) == of(SMALL)


def test_the_layout_and_the_columns_over_a_plan_count() -> None:
    known = {fingerprint(SMALL, (), 3), fingerprint(SMALL, (), 4), of(SMALL)}
    assert len(known) == 3


@pytest.mark.parametrize("union", [Buffer, Weighted, Composed | Reference | Call])
def test_every_kind_is_written(union: Any) -> None:
    kinds = {get_origin(kind) or kind for kind in get_args(union)}
    assert len(kinds) > 1
    assert kinds - KINDS.keys() - PARTS.keys() == {Extreme} & kinds


def test_other_plans_have_others() -> None:
    assert len({of(planned(name).delta) for name in NAMES}) == len(NAMES)


@pytest.mark.parametrize("name", ["q15", "q22"])
def test_nothing_that_is_computed_is_left_out(name: str) -> None:
    """Whatever is changed in a plan but what is only shown, its fingerprint is another one."""
    delta = planned(name).delta
    before = of(delta)
    changed = list(changes(delta))
    assert len(changed) > 100
    assert [where for where, other in changed if of(other) == before] == []


def changes(value: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    """The value with one number, name or choice in it changed, for each of them."""
    match value:
        case bool():
            yield where, not value
        case Enum():
            yield from ((where, other) for other in list(type(value))[:2] if other is not value)
        case int():
            yield where, value + 1
        case str():
            yield where, f"{value}?"
        case tuple():
            for place, item in enumerate(value):
                for path, other in changes(item, f"{where}[{place}]"):
                    yield path, (*value[:place], other, *value[place + 1 :])
        case _ if is_dataclass(value):
            for field in fields(value):
                if not is_shown_only(value, field.name):
                    for path, other in changes(getattr(value, field.name), f"{where}.{field.name}"):
                        yield path, replace(value, **{field.name: other})  # type: ignore[type-var]


def is_shown_only(value: object, name: str) -> bool:
    """Whether it tells readers what the rest of the plan says already."""
    match value, name:
        case (Field(), "name") | (NodeBuffer() | Step(), "what") | (Call(), "notation"):
            return True
        case _, "type":
            return isinstance(value, OF_TRUTH)
        case _:
            return False
