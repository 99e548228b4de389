"""Arrays as PostgreSQL writes them: `{1,NULL,"a b"}`."""

from __future__ import annotations

import re
from typing import Final

from catalog.errors import FeatureNotSupported

_SPACES: Final = " \t\n\v\f\r"
_ELEMENT: Final = re.compile(
    r'[ \t-\r]*(?:"((?:[^"\\]|\\.)*)"|((?:[^",{}\\ \t-\r]|\\.)(?:[^",{}\\]|\\.)*?))[ \t-\r]*([,}])', re.DOTALL
)
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)


def elements_of(text: str) -> tuple[str | None, ...]:
    """The elements of an array of one dimension, None for NULL."""
    stripped = text.strip(_SPACES)
    if re.fullmatch(r"\{[ \t-\r]*\}", stripped):
        return ()
    if not stripped.startswith("{"):
        raise _unreadable(text)
    elements: list[str | None] = []
    position, last = 1, ","
    while last == ",":
        found = _ELEMENT.match(stripped, position)
        if not found:
            raise _unreadable(text)
        quoted, bare, last = found.groups()
        value = _ESCAPE.sub(r"\1", bare if quoted is None else quoted)
        elements.append(None if quoted is None and value.upper() == "NULL" else value)
        position = found.end()
    if position != len(stripped):
        raise _unreadable(text)
    return tuple(elements)


def _unreadable(text: str) -> FeatureNotSupported:
    return FeatureNotSupported(f"cannot maintain a query with the array {text!r}")
