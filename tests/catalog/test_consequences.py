"""Every error of ours has the consequence that its class promises."""

from __future__ import annotations

import pytest

from catalog.consequences import Consequence, consequence_of
from catalog.errors import (
    AnswerDiffers,
    CannotConnectNow,
    ConcurrentChange,
    ConfigurationError,
    DiskFull,
    DivisionByZero,
    EngineLost,
    Error,
    FeatureNotSupported,
    InputOutputError,
    InsufficientPrivilege,
    ValueNotStorable,
)

OF_CLASSES: dict[type[Error], Consequence] = {
    AnswerDiffers: Consequence.SUSPEND,
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
    assert consequence_of(error.sqlstate) is OF_CLASSES[error]
