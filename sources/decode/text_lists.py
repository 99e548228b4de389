"""Arrays in PostgreSQL's text form: `{1,NULL,"a \\"quoted\\" one"}`, or `[0:1]={1,2}`, or `{{1,2},{3,4}}`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

ELEMENT = r'(?:"(?:[^"\\]|\\.)*"|[^",{}\\]+)'
LIST = re.compile(rf"\{{(?:{ELEMENT}(?:,{ELEMENT})*)?\}}", re.DOTALL)
LOW = re.compile(r"\[(-?\d+):-?\d+\]")
MEMBER = re.compile(rf"{ELEMENT}|[{{}},]", re.DOTALL)
ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def split_lists(texts: Iterable[str]) -> tuple[list[int], list[str | None]]:
    """All elements, and where among them each list starts and the last one ends.

    Raises ValueError for what is no list, such as an array of several dimensions or not numbered from 1.
    """
    bounds: list[int] = [0]
    elements: list[str | None] = []
    for text in texts:
        if not LIST.fullmatch(text):
            raise ValueError("not a list")
        elements += [_element(element) for element in re.findall(ELEMENT, text[1:-1], re.DOTALL)]
        bounds.append(len(elements))
    return bounds, elements


def split_arrays(texts: Iterable[str]) -> tuple[list[int], list[str | None], list[list[int]]]:
    """Lengths and elements of arrays of any shape, and their shapes as `Shaped` has them."""
    bounds: list[int] = [0]
    elements: list[str | None] = []
    shapes: list[list[int]] = []
    for text in texts:
        start = text.index("{")
        lows = [int(low) for low in LOW.findall(text[:start])]
        members, lengths = _members(text[start:])
        elements += members
        bounds.append(len(elements))
        shapes.append([len(lengths), *lengths, *(lows or [1] * len(lengths))])
    return bounds, elements, shapes


def _members(text: str) -> tuple[list[str | None], list[int]]:
    """The elements within nested brackets, and how many members a bracket of each depth has."""
    elements: list[str | None] = []
    brackets: list[int] = []
    at = depth = 0
    for match in MEMBER.finditer(text):
        if match.start() != at:
            raise ValueError("not an array")
        at = match.end()
        match match[0]:
            case "{":
                depth += 1
                brackets += [0] * (depth - len(brackets))
                brackets[depth - 1] += 1
            case "}":
                depth -= 1
            case ",":
                pass
            case word:
                elements.append(_element(word))
    if at != len(text) or depth:
        raise ValueError("not an array")
    if not elements:
        return [], []
    totals = [*brackets, len(elements)]
    return elements, [after // before for before, after in pairwise(totals)]


def _element(text: str) -> str | None:
    if text.startswith('"'):
        return ESCAPED.sub(r"\1", text[1:-1])
    return None if text == "NULL" else text
