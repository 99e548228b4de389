"""All points, all victims, the first and the second hit: `scripts/kill-matrix`."""

from __future__ import annotations

import sys
import tempfile
import time
from itertools import product
from pathlib import Path
from typing import Final

from tests.support.answers.killing import CAPTURE, POINTS, VICTIMS, Site
from tests.support.running import servers

ONCE: Final = ("publish: fired", "publish: before commit", "publish: committed", *CAPTURE)
"""Reached once in a refresh."""


def main() -> int:
    """Run all of them; how many failed."""
    failed = 0
    with (
        servers.postgres(18) as server,
        servers.gavial("--proxy-only", upstream=server) as proxy,
        tempfile.TemporaryDirectory() as home,
    ):
        site = Site(server, proxy.dsn(), Path(home))
        for hit, point, victim in product((1, 2), POINTS, VICTIMS):
            if hit == 2 and point in ONCE:
                continue
            began = time.monotonic()
            try:
                site.survive(point, victim, hit)
                outcome = "survived"
            except AssertionError as error:
                failed, outcome = failed + 1, f"FAILED: {error}"
            seconds = time.monotonic() - began
            sys.stdout.write(f"{point}, {victim}, hit {hit}: {outcome} ({seconds:.0f} s)\n")
            sys.stdout.flush()
        site.end()
    return failed


if __name__ == "__main__":
    sys.exit(min(main(), 1))
