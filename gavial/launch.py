"""Entry point: puts Gavial's folders on the import path, here and for child interpreters, and runs the CLI."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path


def application_root() -> Path:
    """The folder that holds `proxy`, `catalog` and the others: inside the wheel, or the checkout."""
    package = Path(__file__).resolve().parent
    bundled = package / "app"
    return bundled if bundled.is_dir() else package.parent


def main() -> None:
    """Run the `gavial` command."""
    root = str(application_root())
    if root not in sys.path:
        sys.path.insert(0, root)
    inherited = os.environ.get("PYTHONPATH", "")
    if root not in inherited.split(os.pathsep):
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (root, inherited)))
    importlib.import_module("proxy.cli").main()
