"""What is going on, on a terminal, as long as something lasts; nothing where nobody sees it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.progress import Progress
from rich.status import Status

_PATIENCE_SECONDS: Final = 1.0
_TICK_SECONDS: Final = 0.2


class _Showing:
    """The status line that is shown now, if one is."""

    def __init__(self) -> None:
        self.status: Status | None = None


_SHOWING: Final = _Showing()


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show what is being done, and for how long, from its second second on."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    done = threading.Event()
    ticking = threading.Thread(target=_tick, args=(console, what, done), daemon=True)
    ticking.start()
    try:
        yield
    finally:
        done.set()
        ticking.join()


def said(text: str) -> None:
    """A line on standard error, above the status line where there is one."""
    status = _SHOWING.status
    console = Console(stderr=True, soft_wrap=True) if status is None else status.console
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _tick(console: Console, what: str, done: threading.Event) -> None:
    began = time.monotonic()
    if done.wait(_PATIENCE_SECONDS):
        return
    with console.status(what) as status:
        _SHOWING.status = status
        while not done.wait(_TICK_SECONDS):
            status.update(f"{what}, {time.monotonic() - began:.0f} s")
        _SHOWING.status = None


@contextmanager
def counted(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal; what is given is told how many of how many are done."""
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(what)

        def looked(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        yield looked
