"""Puts PostgreSQL's own statements in the place of ours, in as many bytes: later ones keep their place."""

from __future__ import annotations

from typing import Final, assert_never

from dialect.parse import Found, find_ours
from dialect.statements import ShowVersion, Statement

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


def rewrite(query: bytes, client_encoding: str) -> bytes | None:
    """The same bytes with ours replaced, as long as before; None if nothing in them is ours."""
    codec = _CODECS.get(client_encoding)
    if codec is None:
        return None
    try:
        text = query.decode(codec)
    except UnicodeDecodeError:
        return None
    found = find_ours(text)
    if not found or text.encode(codec) != query:
        return None
    for each in found:
        query = _replace(query, each, text, codec)
    return query


def spelling(statement: Statement) -> str:
    """What PostgreSQL runs in the place of a statement of ours; never longer than the shortest form of it."""
    match statement:
        case ShowVersion():
            return "TABLE gavial.about"
        case _:
            assert_never(statement)


def _replace(query: bytes, found: Found, text: str, codec: str) -> bytes:
    start = len(text[: found.start].encode(codec))
    size = len(text[found.start : found.end].encode(codec))
    substitute = spelling(found.statement).encode()
    assert len(substitute) <= size
    return query[:start] + substitute.ljust(size) + query[start + size :]
