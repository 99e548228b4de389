"""What tests have recorded: compared, or with REWRITE=1 written anew."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

RECORDING: Final = os.environ.get("REWRITE") == "1"


def assert_as_recorded(path: Path, text: str) -> None:
    """A file holds a text; where tests record, it is given that text."""
    if RECORDING:
        path.write_text(text)
    assert text == path.read_text()
