"""What an account can reach: asked as that account, because mode bits are not the whole truth."""

from __future__ import annotations

from pathlib import Path

from coordinator.embedded.account import Account
from coordinator.embedded.process import run_as

ROOT = Path("/")


def can_enter(account: Account, directory: Path) -> bool:
    """Whether the account can go through every parent, and through the directory itself."""
    return run_as(account, ["/bin/sh", "-c", 'test -x "$0"', directory], directory=ROOT).returncode == 0


def can_run(account: Account, program: Path) -> bool:
    """Whether the account can run a program of PostgreSQL, libraries included."""
    return run_as(account, [program, "--version"], directory=ROOT).returncode == 0
