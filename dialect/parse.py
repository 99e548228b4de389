"""Finds the statements of ours in a string of SQL; everything else is PostgreSQL's and is not parsed."""

from __future__ import annotations

from dataclasses import dataclass

from dialect.scan import Token, statements
from dialect.statements import ShowVersion, Statement


@dataclass(frozen=True, slots=True)
class Found:
    """A statement of ours and its place in the text (characters, from its first token to its last)."""

    statement: Statement
    start: int
    end: int


def find_ours(text: str) -> tuple[Found, ...]:
    """Every statement of ours, in order; none where the scanner cannot read the text."""
    return tuple(
        Found(statement, tokens[0].start, tokens[-1].end)
        for tokens in statements(text)
        if (statement := recognise(tokens)) is not None
    )


def recognise(tokens: tuple[Token, ...]) -> Statement | None:
    """The statement of ours that these tokens are, or None."""
    match tokens:
        case (Token(kind="SHOW"), schema, Token(text="."), name) if (
            schema.folded.lower() == "gavial" and name.folded.lower() == "version"
        ):
            return ShowVersion()
    return None
