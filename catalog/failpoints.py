"""Named places where a test has a process die, fail or wait; nothing without its environment variable."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Final

VARIABLE: Final = "GAVIAL_FAILPOINT"
"""NAME:N:ACTION, where the action at the Nth hit is kill, raise, err, sleep or stop (until SIGCONT).

Or the path of a file that says so: it may come and change while the process lives, and goes at the hit.
"""

SLEEP_SECONDS: Final = 3600

_hits: dict[str, int] = {}


class Failpoint(BaseException):
    """What the action `raise` raises: nothing that handles errors takes it for one."""


def failpoint(name: str) -> None:
    """Do what the environment says should happen here."""
    setting = os.environ.get(VARIABLE)
    if setting is None:
        return
    wanted = _content(setting) if setting.startswith("/") else setting
    if not wanted.startswith(f"{name}:"):
        return
    _name, number, action = wanted.rsplit(":", 2)
    _hits[name] = _hits.get(name, 0) + 1
    if _hits[name] != int(number):
        return
    if setting.startswith("/"):
        os.unlink(setting)
        _hits.clear()
    match action:
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        case "raise":
            raise Failpoint(name)
        case "err":
            raise RuntimeError(name)
        case "sleep":
            time.sleep(SLEEP_SECONDS)
        case _:
            raise ValueError(f"{VARIABLE}={wanted}: no such action")


def _content(file: str) -> str:
    return Path(file).read_text() if os.path.exists(file) else ""
