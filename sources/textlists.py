"""Arrays in PostgreSQL's text form: `{1,NULL,"a \\"quoted\\" one"}`."""

from __future__ import annotations

import re
from collections.abc import Iterable

ELEMENT = r'(?:"(?:[^"\\]|\\.)*"|[^",{}\\]+)'
LIST = re.compile(rf"\{{(?:{ELEMENT}(?:,{ELEMENT})*)?\}}", re.DOTALL)
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
        elements += [_element(found) for found in re.findall(ELEMENT, text[1:-1], re.DOTALL)]
        bounds.append(len(elements))
    return bounds, elements


def _element(text: str) -> str | None:
    if text.startswith('"'):
        return ESCAPED.sub(r"\1", text[1:-1])
    return None if text == "NULL" else text
