"""Sessions of psql as documents show them: what is typed at the prompt, and what is printed then.

What differs from run to run is not compared: numbers and positions are one sign, lines that differ in nothing
else count once, widths of columns do not count, nor what psql writes to standard error (NOTICE and WARNING).
A line of three dots stands for any lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Final

_BLOCK: Final = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PROMPT: Final = re.compile(r"\w*=[>#] ")
_CONTINUED: Final = re.compile(r"\w*-[>#] ")
_SHELL: Final = "$ "
_STANDARD_ERROR: Final = ("NOTICE:", "WARNING:", "DETAIL:", "HINT:")
_ANY_LINES: Final = "..."
_NUMBER: Final = re.compile(r"\b[0-9A-F]+/[0-9A-F]+\b|\b\d+(?:\.\d+)*\b")
_LINE: Final = re.compile(r"-{2,}")


@dataclass(frozen=True, slots=True)
class Exchange:
    """A statement, and what is printed for it; nothing where the document does not show it."""

    statement: str
    printed: tuple[str, ...]


def exchanges(document: Path) -> tuple[Exchange, ...]:
    """What is typed and printed in all sessions of a document."""
    return tuple(exchange for block in _BLOCK.findall(document.read_text()) for exchange in _exchanges(block))


def _exchanges(block: str) -> Iterator[Exchange]:
    typed: list[str] = []
    printed: list[str] = []
    for line in block.splitlines():
        if (prompt := _PROMPT.match(line)) is not None:
            if typed:
                yield Exchange("\n".join(typed), tuple(printed))
            typed, printed = [line[prompt.end() :]], []
        elif (prompt := _CONTINUED.match(line)) is not None:
            typed.append(line[prompt.end() :])
        elif not line.startswith(_SHELL):
            printed.append(line)
    if typed:
        yield Exchange("\n".join(typed), tuple(printed))


def is_as_shown(shown: Sequence[str], printed: Sequence[str]) -> bool:
    """Whether a document tells the truth, by what is compared."""
    expected = _comparable(line for line in shown if not line.startswith(_STANDARD_ERROR))
    if not expected:
        return True
    pattern = "".join("(?:.*\n)*" if line == _ANY_LINES else re.escape(f"{line}\n") for line in expected)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in _comparable(printed))) is not None


def _comparable(lines: Iterator[str] | Sequence[str]) -> list[str]:
    masked = (" ".join(_LINE.sub("-", _NUMBER.sub("#", line)).split()) for line in lines)
    singular = (line.replace("rows)", "row)") for line in masked if line)
    return [line for line, _same in groupby(singular)]
