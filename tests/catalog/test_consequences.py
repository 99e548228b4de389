"""Every error of ours has the consequence that its class promises."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from catalog.consequences import Consequence, consequence_of, is_of_values
from catalog.errors import (
    CannotConnectNow,
    CannotConvert,
    ConcurrentChange,
    ConfigurationError,
    DiskFull,
    DivisionByZero,
    EngineLost,
    Error,
    FeatureNotSupported,
    InputOutputError,
    InsufficientPrivilege,
    ResultDiffers,
    ValueNotStorable,
)

OF_CLASSES: dict[type[Error], Consequence] = {
    ResultDiffers: Consequence.SUSPEND,
    CannotConnectNow: Consequence.RETRY,
    ConcurrentChange: Consequence.RETRY,
    ConfigurationError: Consequence.REPAIR,
    DiskFull: Consequence.REPAIR,
    DivisionByZero: Consequence.DATA,
    EngineLost: Consequence.DATA,
    FeatureNotSupported: Consequence.CHANGE,
    InputOutputError: Consequence.REPAIR,
    InsufficientPrivilege: Consequence.SUSPEND,
    ValueNotStorable: Consequence.DATA,
}


@pytest.mark.parametrize("error", OF_CLASSES, ids=lambda error: error.__name__)
def test_classes(error: type[Error]) -> None:
    assert error.consequence is consequence_of(error.sqlstate) is OF_CLASSES[error]


def classes(base: type[Error] = Error) -> Iterator[type[Error]]:
    for kind in base.__subclasses__():
        yield kind
        yield from classes(kind)


@pytest.mark.parametrize("error", list(classes()), ids=lambda error: error.__name__)
def test_of_values_is_what_the_state_says(error: type[Error]) -> None:
    """But for what cannot be converted: PostgreSQL's state for that is one of features."""
    assert error.of_values == (is_of_values(error.sqlstate) or error is CannotConvert)


def test_the_base_is_raised_nowhere() -> None:
    assert not hasattr(Error, "sqlstate")


def test_a_class_cannot_give_a_state_another_consequence() -> None:
    with pytest.raises(AssertionError, match="40001"):
        type("Another", (Error,), {}, sqlstate="40001", consequence=Consequence.REPAIR)
