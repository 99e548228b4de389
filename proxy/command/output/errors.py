"""Errors and notices as psql prints them; pure."""

from __future__ import annotations

from typing import Final, Protocol

import psycopg

from catalog.errors import Error

_WIDTH: Final = 60
"""So much of a line is shown around the place of an error."""


class Told(Protocol):
    """What a server says: the fields of a notice, or of an error, that people read."""

    @property
    def severity(self) -> str | None: ...  # noqa: D102

    @property
    def message_primary(self) -> str | None: ...  # noqa: D102

    @property
    def message_detail(self) -> str | None: ...  # noqa: D102

    @property
    def message_hint(self) -> str | None: ...  # noqa: D102


class StatementFailed(Exception):
    """A statement that the server refused; `position` counts from 1 in `text`, which the user wrote."""

    def __init__(self, message: psycopg.Error, text: str, position: int | None) -> None:
        super().__init__(str(message))
        self.told = message
        self.text = text
        self.position = position


def failure_text(error: Error) -> str:
    """An error of this program's own, in one line."""
    more = " ".join(filter(None, (error.detail, error.hint)))
    return f"gavial: {error.message}{f' ({more})' if more else ''}"


def error_text(error: psycopg.Error, text: str = "", position: int | None = None) -> str:
    """An error of the server, with the place in the text where it found it."""
    if error.diag.message_primary is None:
        return f"gavial: {' '.join(str(error).split())}"
    return told_text(error.diag, place_text(text, position))


def told_text(message: Told, place: str = "") -> str:
    """A notice, a warning or an error: first what it is, then where, then more of it."""
    lines = [f"{message.severity}:  {message.message_primary}"]
    lines += [place] if place else []
    lines += [f"DETAIL:  {message.message_detail}"] if message.message_detail else []
    lines += [f"HINT:  {message.message_hint}"] if message.message_hint else []
    return "\n".join(lines)


def place_text(text: str, position: int | None) -> str:
    """The line of a text in which a position lies, counted from 1, and a caret below it."""
    if position is None or not 1 <= position <= len(text) + 1:
        return ""
    before = text[: position - 1]
    begin = before.rfind("\n") + 1
    end = text.find("\n", position - 1)
    line = text[begin : len(text) if end < 0 else end].replace("\t", " ")
    column = position - 1 - begin
    first = max(0, column - _WIDTH // 2) if len(line) > _WIDTH else 0
    head = f"LINE {before.count(chr(10)) + 1}: {'...' if first else ''}"
    tail = "..." if len(line) > first + _WIDTH else ""
    return f"{head}{line[first : first + _WIDTH]}{tail}\n{' ' * (len(head) + column - first)}^"
