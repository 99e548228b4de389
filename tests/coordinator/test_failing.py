"""Which failures of a standing query newer data may mend, and which its owner."""

from __future__ import annotations

from uuid import UUID

import psycopg
import pytest

from catalog.errors import CannotConvert, NotMaintainable
from catalog.queries.running import Running
from coordinator.decide.failure_policy import needs_resume
from coordinator.results.failing import failure_of


def failed(sqlstate: str, of_values: bool) -> Running:
    """A query in error."""
    return Running(
        id=UUID(int=1),
        view=1,
        result=2,
        text="SELECT 1",
        options={},
        settings={},
        status="error",
        sqlstate=sqlstate,
        detail=None,
        position=None,
        fired=None,
        captured=True,
        unlogged=False,
        schema="public",
        name="q",
        owner="o",
        of_values=of_values,
    )


@pytest.mark.parametrize(
    ("error", "of_values"),
    [
        (CannotConvert("cannot convert NaN to integer"), True),
        (psycopg.errors.FeatureNotSupported("cannot convert NaN to integer"), True),
        (NotMaintainable("a window"), False),
    ],
)
def test_a_lacking_feature_may_be_a_matter_of_values(error: Exception, of_values: bool) -> None:
    failure = failure_of(error)
    assert (failure.sqlstate, failure.of_values) == ("0A000", of_values)


@pytest.mark.parametrize(
    ("sqlstate", "of_values", "rests"),
    [("0A000", False, True), ("0A000", True, False), ("42809", False, True), ("22003", True, False)],
)
def test_what_values_cause_is_tried_again_by_itself(sqlstate: str, of_values: bool, rests: bool) -> None:
    assert needs_resume(failed(sqlstate, of_values)) is rests
