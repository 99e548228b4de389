"""A query's text as PostgreSQL computes it for VERIFY: with Gavial's order where PostgreSQL leaves one open.

The order of `array_agg` and `string_agg` is open where no ORDER BY is given, and among rows that are equal
by it. Gavial takes that of the values (docs/values.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from catalog.queries.result_tables import PLACE_IN_LIST
from dialect.statements.tokens import Token, tokens

_LISTS: Final = frozenset(("array_agg", "string_agg"))
_OPENING: Final = ("(", "[")
_CLOSING: Final = (")", "]")
_VALUE: Final = "gavial_value"


def lists_in_order(text: str) -> str:
    """The SELECT with these aggregates in Gavial's order; the text itself where it has none of them.

    The text is PostgreSQL's own of a view. What stands in another view that it reads stays as it is.
    """
    names = [number for number, token in enumerate(tokens(text)) if token.text in _LISTS]
    for number in reversed(names):  # from the end, so that the numbers before stay true
        call = _call_at(tokens(text), number)
        if call is not None:
            text = text[: call.start] + _in_order(text, call) + text[call.end :]
    return text


@dataclass(frozen=True, slots=True)
class _Call:
    """Where a call stands in a text: its value, all its arguments, its order, and a FILTER behind it."""

    name: str
    start: int
    value: tuple[int, int]
    arguments_end: int
    order_end: int
    end: int
    distinct: bool
    ordered: bool


def _in_order(text: str, call: _Call) -> str:
    value = text[slice(*call.value)]
    others = text[call.value[1] : call.arguments_end]
    condition = text[call.order_end + 1 : call.end]
    if not call.distinct:
        order = f"{text[call.arguments_end : call.order_end]}," if call.ordered else " ORDER BY"
        return f"{call.name}({value}{others}{order} {PLACE_IN_LIST}({value})){condition}"
    if call.ordered:
        return text[call.start : call.end]  # by the values themselves: PostgreSQL allows no other order
    values = f"unnest(array_agg(DISTINCT {value}){condition}) AS {_VALUE}({_VALUE})"
    order = f"ORDER BY {PLACE_IN_LIST}({_VALUE})"
    return f"(SELECT {call.name}({_VALUE}{others} {order}) FROM {values})"


def _call_at(scanned: Sequence[Token], number: int) -> _Call | None:
    """The call that begins with this token; None for another use of the name, and for a window function."""
    if number + 1 >= len(scanned) or scanned[number + 1].text != "(":
        return None
    closing = _closing(scanned, number + 1)
    last = closing
    if [token.word for token in scanned[closing + 1 : closing + 3]] == ["FILTER", "("]:
        last = _closing(scanned, closing + 2)
    if last + 1 < len(scanned) and scanned[last + 1].word == "OVER":
        return None
    first = number + 2
    distinct = scanned[first].word == "DISTINCT"
    comma = _outside_brackets(scanned, first, closing, ",")
    order = _outside_brackets(scanned, first, closing, "ORDER")
    arguments_end = scanned[order - 1].end if order is not None else scanned[closing].start
    value_end = arguments_end
    if comma is not None and (order is None or comma < order):
        value_end = scanned[comma].start
    return _Call(
        name=scanned[number].text,
        start=scanned[number].start,
        value=(scanned[first + distinct].start, value_end),
        arguments_end=arguments_end,
        order_end=scanned[closing].start,
        end=scanned[last].end,
        distinct=distinct,
        ordered=order is not None,
    )


def _closing(scanned: Sequence[Token], opening: int) -> int:
    depth = 0
    for number in range(opening, len(scanned)):
        depth += (scanned[number].text in _OPENING) - (scanned[number].text in _CLOSING)
        if depth == 0:
            return number
    raise AssertionError("PostgreSQL closes every bracket")


def _outside_brackets(scanned: Sequence[Token], first: int, end: int, word: str) -> int | None:
    """The first token with this text that is in no brackets within the call."""
    depth = 0
    for number in range(first, end):
        depth += (scanned[number].text in _OPENING) - (scanned[number].text in _CLOSING)
        if depth == 0 and scanned[number].text == word:
            return number
    return None
