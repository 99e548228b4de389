"""Puts statements that PostgreSQL can run in the place of ours.

Where the new text fits, it is padded, so that every later byte keeps its place; where it does not, the string
grows and an `Edit` says by how much, so that places behind it can be found again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from catalog.errors import Error
from dialect.statements.parse import Found, find_ours
from dialect.statements.request import call_for, refusal
from dialect.statements.statement import Statement

_CODECS: Final = {
    "UTF8": "utf-8",
    "SQL_ASCII": "latin-1",
    "LATIN1": "latin-1",
    "LATIN2": "iso8859-2",
    "LATIN3": "iso8859-3",
    "LATIN4": "iso8859-4",
    "LATIN5": "iso8859-9",
    "LATIN6": "iso8859-10",
    "LATIN7": "iso8859-13",
    "LATIN8": "iso8859-14",
    "LATIN9": "iso8859-15",
    "LATIN10": "iso8859-16",
    "ISO_8859_5": "iso8859-5",
    "ISO_8859_6": "iso8859-6",
    "ISO_8859_7": "iso8859-7",
    "ISO_8859_8": "iso8859-8",
    "WIN866": "cp866",
    "WIN874": "cp874",
    "WIN1250": "cp1250",
    "WIN1251": "cp1251",
    "WIN1252": "cp1252",
    "WIN1253": "cp1253",
    "WIN1254": "cp1254",
    "WIN1255": "cp1255",
    "WIN1256": "cp1256",
    "WIN1257": "cp1257",
    "WIN1258": "cp1258",
    "KOI8R": "koi8-r",
    "KOI8U": "koi8-u",
    "EUC_JP": "euc_jp",
    "EUC_JIS_2004": "euc_jis_2004",
    "EUC_CN": "gb2312",
    "EUC_KR": "euc_kr",
    "SJIS": "cp932",
    "SHIFT_JIS_2004": "shift_jis_2004",
    "BIG5": "big5",
    "GBK": "gbk",
    "GB18030": "gb18030",
    "UHC": "cp949",
    "JOHAB": "johab",
}


@dataclass(frozen=True, slots=True)
class Edit:
    """From this place on (characters of the new text), everything stands so much further to the right."""

    end: int
    growth: int


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The new text, and where it grew."""

    query: bytes
    edits: tuple[Edit, ...]


def codec_of(client_encoding: str) -> str | None:
    """Python's name of one of PostgreSQL's encodings; None for those it does not have."""
    return _CODECS.get(client_encoding)


def rewrite(
    query: bytes, client_encoding: str, refused: Error | None = None, *, alone: bool = True
) -> Rewritten | None:
    """The text with ours replaced, or all of them refused; None if nothing in it is ours.

    `alone`: what it does is not done in one transaction with other texts.
    """
    codec = codec_of(client_encoding)
    if codec is None:
        return None
    try:
        text = query.decode(codec)
        statements = find_ours(text)
        if not statements or text.encode(codec) != query:
            return None
        return _replace(text, statements, codec, refused, alone=alone)
    except UnicodeError:
        return None


def original_place(place: int, edits: tuple[Edit, ...]) -> int:
    """Where in the client's text a place of the new text is."""
    return place - sum(edit.growth for edit in edits if place >= edit.end)


def _replace(
    text: str, statements: tuple[Found, ...], codec: str, refused: Error | None, *, alone: bool
) -> Rewritten:
    parts = []
    edits = []
    done = 0
    length = 0
    for statement in statements:
        substitute = _substitute(refused or statement.statement, alone=alone)
        size = statement.end - statement.start
        parts += [text[done : statement.start], substitute.ljust(size)]
        length += statement.start - done + max(size, len(substitute))
        if len(substitute) > size:
            edits.append(Edit(length, len(substitute) - size))
        done = statement.end
    parts.append(text[done:])
    return Rewritten("".join(parts).encode(codec), tuple(edits))


def _substitute(statement: Statement | Error, *, alone: bool) -> str:
    return refusal(statement) if isinstance(statement, Error) else call_for(statement, alone=alone)
