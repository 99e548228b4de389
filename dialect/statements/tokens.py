"""Tokens with their places, from PostgreSQL's own scanner, cut into statements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase
from typing import Final

from pglast.parser import ParseError, scan

_COMMENTS: Final = frozenset(("SQL_COMMENT", "C_COMMENT"))
_OPENING: Final = frozenset(("ASCII_40", "ASCII_91"))
_CLOSING: Final = frozenset(("ASCII_41", "ASCII_93"))
_NOT_NAMES: Final = frozenset(("RESERVED_KEYWORD", "TYPE_FUNC_NAME_KEYWORD"))
_SEMICOLON: Final = "ASCII_59"


_FOLD: Final = str.maketrans(ascii_uppercase, ascii_lowercase)
_RAISE: Final = str.maketrans(ascii_lowercase, ascii_uppercase)


@dataclass(frozen=True, slots=True)
class Token:
    """One token: the scanner's name of its kind, its text as written, and where it stands (characters)."""

    kind: str
    text: str
    start: int
    end: int
    reserved: bool = False

    @property
    def folded(self) -> str:
        """What an identifier or keyword means: quotes taken off, or folded as PostgreSQL folds."""
        if self.text.startswith('"'):
            return self.text[1:-1].replace('""', '"')
        return self.text.translate(_FOLD)

    @property
    def word(self) -> str:
        """The keyword it may be, in upper case; empty for what is quoted or no word."""
        return "" if self.text.startswith('"') else self.text.translate(_RAISE)

    @property
    def names(self) -> bool:
        """Whether it can stand for a name."""
        return not self.reserved and (self.kind == "IDENT" or self.text[0].isalpha())


def unreadable(text: str) -> tuple[str, int] | None:
    """What the scanner says against a text, and where; None where it reads all of it."""
    try:
        scan(text)
    except ParseError as error:
        message, place = error.args
        # With letters of several bytes before it, the place that is told lies too far to the left.
        near = message.partition('near "')[2][:-1]
        return message, max(place, text.find(near, place))
    return None


def tokens(text: str) -> tuple[Token, ...]:
    """All tokens but comments; empty where PostgreSQL would report a scanner's error."""
    try:
        scanned = scan(text)
    except ParseError:
        return ()
    return tuple(
        Token(
            token.name,
            text[token.start : token.end + 1],
            token.start,
            token.end + 1,
            token.kind in _NOT_NAMES,
        )
        for token in scanned
        if token.name not in _COMMENTS
    )


def statements(text: str) -> Iterator[tuple[Token, ...]]:
    """The statements of a string: cut at semicolons, but not inside parentheses or BEGIN ATOMIC … END."""
    current: list[Token] = []
    parentheses = 0
    blocks = 0
    for token in tokens(text):
        if token.kind == _SEMICOLON and parentheses <= 0 and blocks == 0:
            if current:
                yield tuple(current)
            current = []
            parentheses = 0
            continue
        parentheses += (token.kind in _OPENING) - (token.kind in _CLOSING)
        blocks = max(0, blocks + _block_change(token, current))
        current.append(token)
    if current:
        yield tuple(current)


def _block_change(token: Token, before: list[Token]) -> int:
    """How the nesting of SQL-standard function bodies changes; CASE counts, for it also ends with END."""
    match token.kind:
        case "ATOMIC" if before and before[-1].kind == "BEGIN_P":
            return 1
        case "CASE" if any(earlier.kind == "ATOMIC" for earlier in before):
            return 1
        case "END_P":
            return -1
    return 0
