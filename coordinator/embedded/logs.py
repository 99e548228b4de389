"""The server's own log files: how many stay, and what to quote from them."""

from __future__ import annotations

from pathlib import Path

from coordinator.embedded.home import Home
from coordinator.embedded.process import do_as

KEPT = 10


def prune_logs(home: Home) -> None:
    """Remove all but the newest; their names sort by time, and none grows past its limit."""
    old = sorted(home.logs.glob("postgresql-*.log"))[:-KEPT]
    if old:
        do_as(home.account, ["/bin/rm", "-f", *old], directory=home.directory)


def last_lines(directory: Path, count: int = 10) -> str:
    """The end of the file written last."""
    newest = max(directory.iterdir(), key=lambda file: file.stat().st_mtime_ns)
    return "\n".join(newest.read_text(errors="replace").splitlines()[-count:])
