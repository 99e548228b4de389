"""What cannot be listed holds no result back."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.results.arrangements import ListedArrangements
from sources.warehouse.site import CaptureSite
from sources.warehouse.warehouse import Warehouse


class Failing:
    """An engine, and a connection that is open."""

    closed = False

    def kept(self, folder: str) -> Any:
        raise ValueError(folder)


def test_an_error_of_the_listing_is_logged_and_no_more(
    tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    failing: Any = Failing()
    listed = ListedArrangements(CaptureSite("", 1, Warehouse(str(tmp_path))), failing)
    listed.list(failing)
    listed.list(failing)
    assert [record.message for record in caplog.records] == ["what is kept by key cannot be listed"]
