"""Reads the tokens of one statement from left to right; a surprise is a syntax error at its place."""

from __future__ import annotations

import re
from typing import Final, NoReturn

from catalog.errors import MalformedStatement
from dialect.statements.statement import Name
from dialect.statements.tokens import Token

LONGEST_NAME: Final = 63
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
_SHORT: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class Reader:
    """A cursor over tokens."""

    def __init__(self, tokens: tuple[Token, ...], at: int = 0) -> None:
        self._tokens = tokens
        self._at = at

    @property
    def next(self) -> Token | None:
        """The token to be read; None at the end."""
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    @property
    def position(self) -> int:
        """Where the next token begins, or the last one ends."""
        return self.next.start if self.next is not None else self._tokens[-1].end

    def skip(self) -> Token:
        """Read the next token, whatever it is."""
        token = self.next
        if token is None:
            self.fail()
        self._at += 1
        return token

    def sees(self, *words: str) -> bool:
        """Whether these words or signs come next."""
        coming = self._tokens[self._at : self._at + len(words)]
        return tuple(token.word for token in coming) == words

    def accept(self, *words: str) -> bool:
        """Read these words if they come next."""
        if self.sees(*words):
            self._at += len(words)
            return True
        return False

    def expect(self, *words: str) -> None:
        """Read these words; anything else is a syntax error at the first that differs."""
        for word in words:
            if not self.accept(word):
                self.fail()

    def end(self) -> None:
        """Refuse whatever follows."""
        if self.next is not None:
            self.fail()

    def fail(self) -> NoReturn:
        """The error PostgreSQL gives for what cannot stand here."""
        if self.next is None:
            raise MalformedStatement("syntax error at end of input", position=self.position)
        raise MalformedStatement(f'syntax error at or near "{self.next.text}"', position=self.position)

    def identifier(self) -> str:
        """One name, folded, and cut where PostgreSQL cuts it."""
        token = self.next
        if token is None or not token.names:
            self.fail()
        self._at += 1
        return shortened(token.folded)

    def label(self) -> str:
        """A name after a dot or in a list of options, where every keyword is allowed too."""
        token = self.next
        if token is None or not (token.text[0] == '"' or token.text[0].isalpha() or token.text[0] == "_"):
            self.fail()
        self._at += 1
        return shortened(token.folded)

    def name(self) -> Name:
        """A name, qualified with a schema or not."""
        position = self.position
        parts = [self.identifier()]
        while self.accept("."):
            parts.append(self.label())
        if len(parts) > 2:
            raise MalformedStatement(
                "improper qualified name (too many dotted names): " + ".".join(parts), position=position
            )
        return Name(parts[0] if len(parts) == 2 else None, parts[-1], position)

    def string(self) -> str:
        """A string constant, in any of its notations but U&."""
        token = self.next
        if token is None or token.kind != "SCONST":
            self.fail()
        self._at += 1
        return string_value(token.text)

    def value(self) -> str:
        """A number, a string or a word, as text."""
        sign = "-" if self.accept("-") else ""
        if not sign:
            self.accept("+")
        token = self.next
        if token is None or (sign and token.kind not in ("ICONST", "FCONST")):
            self.fail()
        if token.kind in ("ICONST", "FCONST"):
            return sign + self.skip().text
        return self.string() if token.kind == "SCONST" else self.label()


def shortened(name: str) -> str:
    """A name of at most 63 bytes, cut between characters."""
    return name.encode("utf-8", "surrogateescape")[:LONGEST_NAME].decode("utf-8", "ignore")


def string_value(text: str) -> str:
    """What a string constant means."""
    if text.startswith("$"):
        tag = text[: text.index("$", 1) + 1]
        return text[len(tag) : -len(tag)]
    if text[0] in "eE":
        return _ESCAPE.sub(_unescape, text[2:-1].replace("''", "'"))
    return text[text.index("'") + 1 : -1].replace("''", "'")


def _unescape(match: re.Match[str]) -> str:
    body = match[1]
    match body[0]:
        case "u" | "U" | "x" if len(body) > 1:
            return chr(int(body[1:], 16))
        case "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7":
            return chr(int(body, 8) & 0xFF)
        case _:
            return _SHORT.get(body, body)
