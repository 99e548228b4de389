"""Environment variables for the processes that are started while they hold."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping


@contextlib.contextmanager
def environment(variables: Mapping[str, str | None]) -> Iterator[None]:
    """Environment variables for the processes started inside; None takes one away."""
    before = {name: os.environ.get(name) for name in variables}
    assign(variables)
    try:
        yield
    finally:
        assign(before)


def assign(variables: Mapping[str, str | None]) -> None:
    """Set environment variables, or take them away."""
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
