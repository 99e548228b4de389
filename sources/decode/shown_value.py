"""A value that cannot be stored, for the eyes of whoever has to change it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from catalog.errors import Error
from catalog.postgres.storage import Decimal, ListOf, Plain, Shaped, StoredColumn, Written
from dialect.expressions.array_text import written_array
from dialect.expressions.moment_text import write_timestamp
from sources.decode.binary import decode_binary
from sources.decode.moments import MICROSECONDS_TO_2000
from sources.messages.octets import Values

MOST_CHARACTERS: Final = 60


def shown(column: StoredColumn, values: Values, text: bool) -> str | None:
    """The one value as PostgreSQL writes it, more or less, and shortened; None where that is not known."""
    word = _text(values) if text else _written(column, values)
    if word is None or len(word) <= MOST_CHARACTERS:
        return word
    return f"{word[:MOST_CHARACTERS]}..."


def _text(values: Values) -> str:
    octets: bytes = values.gather()[0].as_py()
    return octets.decode(errors="replace")


def _written(column: StoredColumn, values: Values) -> str | None:
    if column.storage in (Plain.TIMESTAMP, Plain.TIMESTAMPTZ):
        return write_timestamp(int(values.numbers(">i8")[0]) + MICROSECONDS_TO_2000)
    wide = _with_room(column)
    try:
        return None if wide is None else _words(decode_binary(wide, values)[0].as_py())
    except Error:
        return None


def _with_room(column: StoredColumn) -> StoredColumn | None:
    """The column, stored so that there is room for such a value; None where there is no such way."""
    match column.storage:
        case Decimal() as decimal:
            return replace(column, storage=Written(decimal))
        case ListOf(element=inner) | Shaped(elements=ListOf(element=inner)):
            assert column.element is not None, "an array has a type of element"
            element = _with_room(column.element)
            if element is not None:
                return replace(column, storage=Shaped(ListOf(element.storage)), element=element)
            return replace(column, storage=Shaped(ListOf(inner)))
    return None


def _words(value: Any) -> str:
    match value:
        case {"elements": elements, "shape": shape}:
            texts = [None if element is None else _words(element) for element in elements]
            return written_array(texts, shape, str)
        case {"value": _, "text": str(text)}:
            return text
    return str(value)
