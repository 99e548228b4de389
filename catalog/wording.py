"""What others say in several lines, in one."""

from __future__ import annotations


def one_line(text: str) -> str:
    """The lines of a text, one after the other; libpq says what came of each address in a line of its own."""
    lines = (" ".join(line.split()).removeprefix("- ") for line in text.splitlines())
    return "; ".join(filter(None, lines)).replace(":; ", ": ")
