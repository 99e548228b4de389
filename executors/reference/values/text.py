"""PostgreSQL's functions on text."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from catalog.errors import InvalidEscapeSequence, InvalidParameterValue, SubstringError
from catalog.postgres.types import INT4
from executors.reference.values.integers import fitting
from executors.reference.values.values import Definitions


def lower(text: str) -> str:
    """Each character by itself, where its lower case is one character."""
    return "".join(character.lower() if len(character.lower()) == 1 else character for character in text)


def upper(text: str) -> str:
    """Each character by itself, where its upper case is one character."""
    return "".join(character.upper() if len(character.upper()) == 1 else character for character in text)


def like(text: str, pattern: str) -> bool:
    """LIKE with the escape character `\\`."""
    return _compiled(pattern).fullmatch(text) is not None


def like_ignoring_case(text: str, pattern: str) -> bool:
    """ILIKE."""
    return like(lower(text), lower(pattern))


@lru_cache(maxsize=1000)
def _compiled(pattern: str) -> re.Pattern[str]:
    parts: list[str] = []
    characters = iter(pattern)
    for character in characters:
        match character:
            case "%":
                parts.append(".*")
            case "_":
                parts.append(".")
            case "\\":
                escaped = next(characters, None)
                if escaped is None:
                    raise InvalidEscapeSequence("LIKE pattern must not end with escape character")
                parts.append(re.escape(escaped))
            case _:
                parts.append(re.escape(character))
    return re.compile("".join(parts), re.DOTALL)


def with_escape(pattern: str, escape: str) -> str:
    """The pattern with `\\` in the place of its own escape character; an empty one is none."""
    if len(escape) > 1:
        raise InvalidEscapeSequence("invalid escape string")
    if escape == "\\":
        return pattern
    parts: list[str] = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            parts.append("\\" + next(characters, ""))
        else:
            parts.append("\\\\" if character == "\\" else character)
    return "".join(parts)


def substring(text: str, start: int, length: int | None = None) -> str:
    """The characters from number `start`, counted from 1, also before the first."""
    if length is not None and length < 0:
        raise SubstringError("negative substring length not allowed")
    end = len(text) if length is None else max(start - 1 + length, 0)
    return text[max(start - 1, 0) : end]


def overlay(text: str, replacement: str, start: int, length: int | None = None) -> str:
    """The text with so many characters from number `start` replaced."""
    if start <= 0:
        raise SubstringError("negative substring length not allowed")
    count = len(replacement) if length is None else length
    return substring(text, 1, start - 1) + replacement + substring(text, fitting(INT4, start + count))


def left(text: str, count: int) -> str:
    """The first characters, or all but so many of the last."""
    return text[:count]


def right(text: str, count: int) -> str:
    """The last characters, or all but so many of the first."""
    return text[max(len(text) - count, 0) :] if count >= 0 else text[-count:]


def pad(text: str, length: int, fill: str = " ") -> str:
    """The characters that make the text so long."""
    missing = max(length - len(text), 0) if fill else 0
    return (fill * missing)[:missing]


def split_part(text: str, delimiter: str, number: int) -> str:
    """The part of this number, counted from the end if it is negative."""
    if number == 0:
        raise InvalidParameterValue("field position must not be zero")
    parts = text.split(delimiter) if delimiter else [text]
    index = number - 1 if number > 0 else len(parts) + number
    return parts[index] if text and 0 <= index < len(parts) else ""


def translate(text: str, source: str, target: str) -> str:
    """Each character of `source` replaced by that of `target`, or left out where there is none."""
    table: dict[int, str | None] = {}
    for index, character in enumerate(source):
        table.setdefault(ord(character), target[index] if index < len(target) else None)
    return text.translate(table)


def capitalised(text: str) -> str:
    """The first letter of each word in upper case, the others in lower case."""
    parts: list[str] = []
    inside = False
    for character in text:
        parts.append(lower(character) if inside else upper(character))
        inside = character.isalnum()
    return "".join(parts)


def _not(test: Callable[[str, str], bool]) -> Callable[[str, str], bool]:
    return lambda text, pattern: not test(text, pattern)


TEXTS: Final[Definitions] = {
    1258: ("textcat", lambda one, other: one + other),
    2011: ("byteacat", lambda one, other: one + other),
    850: ("textlike", like),
    858: ("namelike", like),
    1569: ("like", like),
    851: ("textnlike", _not(like)),
    859: ("namenlike", _not(like)),
    1570: ("notlike", _not(like)),
    1633: ("texticlike", like_ignoring_case),
    1634: ("texticnlike", _not(like_ignoring_case)),
    1637: ("like_escape", with_escape),
    868: ("strpos", lambda text, part: text.find(part) + 1),
    849: ("position", lambda text, part: text.find(part) + 1),
    877: ("substr", substring),
    883: ("substr", substring),
    936: ("substring", substring),
    937: ("substring", substring),
    1404: ("overlay", overlay),
    1405: ("overlay", overlay),
    870: ("lower", lower),
    871: ("upper", upper),
    872: ("initcap", capitalised),
    1317: ("length", len),
    1318: ("length", len),
    1367: ("character_length", len),
    1369: ("character_length", len),
    1372: ("char_length", len),
    1381: ("char_length", len),
    2010: ("length", len),
    720: ("octet_length", len),
    1374: ("octet_length", lambda text: len(text.encode())),
    884: ("btrim", str.strip),
    885: ("btrim", lambda text: text.strip(" ")),
    875: ("ltrim", str.lstrip),
    881: ("ltrim", lambda text: text.lstrip(" ")),
    876: ("rtrim", str.rstrip),
    882: ("rtrim", lambda text: text.rstrip(" ")),
    873: ("lpad", lambda text, length, fill: (pad(text, length, fill) + text)[: max(length, 0)]),
    879: ("lpad", lambda text, length: (pad(text, length) + text)[: max(length, 0)]),
    874: ("rpad", lambda text, length, fill: (text + pad(text, length, fill))[: max(length, 0)]),
    880: ("rpad", lambda text, length: (text + pad(text, length))[: max(length, 0)]),
    3060: ("left", left),
    3061: ("right", right),
    2087: ("replace", lambda text, old, new: text.replace(old, new) if old else text),
    2088: ("split_part", split_part),
    878: ("translate", translate),
    3062: ("reverse", lambda text: text[::-1]),
    1622: ("repeat", lambda text, count: text * count),
    3696: ("starts_with", str.startswith),
    1620: ("ascii", lambda text: ord(text[0]) if text else 0),
    2311: ("md5", lambda text: hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()),
}
