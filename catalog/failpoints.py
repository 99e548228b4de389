"""Named places where a test has a process die, fail or wait; nothing without its environment variable."""

from __future__ import annotations

import os
import signal
import time
from typing import Final

VARIABLE: Final = "GAVIAL_FAILPOINT"
"""NAME:N:ACTION, where the action at the Nth hit is kill, raise, sleep or stop (until SIGCONT)."""

SLEEP_SECONDS: Final = 3600

_hits: dict[str, int] = {}


class Failpoint(Exception):
    """What the action `raise` raises."""


def failpoint(name: str) -> None:
    """Do what the environment says should happen here."""
    wanted = os.environ.get(VARIABLE)
    if wanted is None or not wanted.startswith(f"{name}:"):
        return
    _name, number, action = wanted.rsplit(":", 2)
    _hits[name] = _hits.get(name, 0) + 1
    if _hits[name] != int(number):
        return
    match action:
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        case "raise":
            raise Failpoint(name)
        case "sleep":
            time.sleep(SLEEP_SECONDS)
        case _:
            raise ValueError(f"{VARIABLE}={wanted}: no such action")
