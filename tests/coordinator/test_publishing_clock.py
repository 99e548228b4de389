"""What publishing takes: of this thread, and of the server's process where that can be seen."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from coordinator.publish.processor import PublishingClock, spent_by_server

CONNECTION: Any = SimpleNamespace(info=SimpleNamespace(backend_pid=4711))


def process(folder: Path, name: str, figures: str | None = "2500000000 17 3\n") -> Path:
    of_it = folder / "4711"
    of_it.mkdir()
    (of_it / "comm").write_text(f"{name}\n")
    if figures is not None:
        (of_it / "schedstat").write_text(figures)
    return folder


def test_the_servers_process_says_what_it_has_spent(tmp_path: Path) -> None:
    assert spent_by_server(CONNECTION, process(tmp_path, "postgres")) == 2.5


@pytest.mark.parametrize(("name", "figures"), [("nginx", "1 2 3"), ("postgres", None), ("postgres", "")])
def test_another_process_with_its_number_does_not(tmp_path: Path, name: str, figures: str | None) -> None:
    """The server may be on another machine."""
    assert spent_by_server(CONNECTION, process(tmp_path, name, figures)) is None
    assert spent_by_server(CONNECTION, tmp_path / "nothing") is None


def test_of_a_server_elsewhere_the_seconds_that_pass_count() -> None:
    elsewhere: Any = SimpleNamespace(info=SimpleNamespace(backend_pid=2**30))
    clock = PublishingClock(elsewhere, elapsed=-1e9)
    assert clock.seconds() > 1e9
