"""Arrays as PostgreSQL writes them: `{1,NULL,"a b"}`, or `[0:1][1:2]={{1,2},{3,4}}`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from catalog.errors import NotMaintainable

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
        match = _ELEMENT.match(stripped, position)
        if not match:
            raise _unreadable(text)
        quoted, bare, last = match.groups()
        value = _ESCAPE.sub(r"\1", bare if quoted is None else quoted)
        elements.append(None if quoted is None and value.upper() == "NULL" else value)
        position = match.end()
    if position != len(stripped):
        raise _unreadable(text)
    return tuple(elements)


def written_array(elements: Sequence[str | None], shape: Sequence[int], quoted: Callable[[str], str]) -> str:
    """An array of any shape: how many dimensions it has, the length of each, the lower bound of each."""
    if not elements:
        return "{}"
    dimensions = shape[0]
    lengths, bounds = shape[1 : 1 + dimensions], shape[1 + dimensions :]
    words = ["NULL" if element is None else quoted(element) for element in elements]
    for length in reversed(lengths):
        words = [
            "{" + ",".join(words[place : place + length]) + "}" for place in range(0, len(words), length)
        ]
    if all(bound == 1 for bound in bounds):
        return words[0]
    ranges = (f"[{low}:{low + length - 1}]" for low, length in zip(bounds, lengths, strict=True))
    return "".join(ranges) + "=" + words[0]


def _unreadable(text: str) -> NotMaintainable:
    return NotMaintainable(f"the array {text!r}")
