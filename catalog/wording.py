"""What is told in several lines or parts, as one line."""

from __future__ import annotations


def one_line(text: str) -> str:
    """The lines of a text, one after the other; libpq says what came of each address in a line of its own."""
    lines = (" ".join(line.split()).removeprefix("- ") for line in text.splitlines())
    return "; ".join(filter(None, lines)).replace(":; ", ": ")


def sentences(*parts: str | None) -> str:
    """What is told in parts, as message, detail and hint, one after the other: each ends before the next."""
    given = [part for part in parts if part]
    ended = [part if part.endswith((".", ":", "!", "?")) else f"{part}." for part in given[:-1]]
    return " ".join([*ended, *given[-1:]])
