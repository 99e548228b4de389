"""What firings cost: the time that processors spend on them."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

from pyspark import SparkContext

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_USER_TICKS: Final = 11
"""Place of the ticks in user mode, then those in the kernel, behind the name in a process's `stat`."""


def processor_seconds() -> float | None:
    """Spent so far by the Java process of the session and by this thread; None where others do the work."""
    gateway, context = SparkContext._gateway, SparkContext._active_spark_context
    if gateway is None or context is None or not (context.master or "").startswith("local"):
        return None
    try:
        text = Path(f"/proc/{gateway.proc.pid}/stat").read_text()
    except OSError:
        return None
    user, kernel = text.rpartition(")")[2].split()[_USER_TICKS : _USER_TICKS + 2]
    return (int(user) + int(kernel)) / _TICKS + time.thread_time()
