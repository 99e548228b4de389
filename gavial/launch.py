"""Entry point: puts Gavial's folders on the import path, for child interpreters too, and runs the command."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path


def main() -> None:
    """Run the `gavial` command, whatever folders lie in the current directory or are installed elsewhere."""
    root = str(application_root())
    sys.path[:] = first(root, sys.path)
    inherited = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join(first(root, inherited.split(os.pathsep) if inherited else []))
    # Otherwise `python -m` looks in the current directory first, and would run a folder named `proxy`.
    os.environ["PYTHONSAFEPATH"] = "1"
    importlib.import_module("proxy.command.cli").main()


def application_root() -> Path:
    """The folder that holds `proxy`, `catalog` and the others: inside the wheel, or the checkout."""
    package = Path(__file__).resolve().parent
    bundled = package / "app"
    return bundled if bundled.is_dir() else package.parent


def first(root: str, places: list[str]) -> list[str]:
    """The same places, with the root before all others."""
    return [root, *(place for place in places if place != root)]
