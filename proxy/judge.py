"""Whether a query can be maintained: what the server asks, and the one place where it is decided; pure."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import indent
from typing import Any, TypeAlias

from catalog.description import table_from, view_from, with_types
from catalog.errors import NotMaintainable
from catalog.schema import Tables, View, Views
from catalog.signatures import Signatures
from dialect.bind import bind
from dialect.bound import Query
from dialect.bound_text import BoundText
from dialect.expectations import check_expectations
from dialect.places import Places, place_of

Options: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Question:
    """A hidden view with everything below it, and the number whose lock says yes; the next one says no."""

    ticket: int
    server: str
    view: View
    views: Views
    tables: Tables
    types: list[list[Any]]
    places: Places
    options: Options
    explain: bool


def read_question(text: str) -> Question | None:
    """The question that `gavial.await_verdict` asks, in base64; None for what only looks like one."""
    try:
        asked = json.loads(base64.b64decode(text))
        views = {each["oid"]: view_from(each) for each in asked["views"]}
        tables = map(table_from, asked["tables"])
        return Question(
            asked["ticket"],
            asked["server"],
            views[asked["view"]],
            {each.name: each for each in views.values()},
            {each.name: each for each in tables},
            asked["types"],
            asked["places"],
            asked["options"],
            asked["explain"],
        )
    except (KeyError, TypeError, ValueError):
        return None


def judge(question: Question, signatures: Signatures) -> str:
    """How the query is understood, if that was asked; raises the error that the client is to get."""
    known = with_types(signatures, question.types)
    try:
        query = check(question, known)
    except NotMaintainable as error:
        error.position = place_of(error.piece, question.places)
        raise
    if expected := question.options.get("EXPECT"):
        check_expectations(expected, question.tables, question.places["option"]["EXPECT"])
    return indent(BoundText(known).query(query), "    ") if question.explain else ""


def check(question: Question, signatures: Signatures) -> Query:
    """What a query must satisfy to be kept, one condition after the other."""
    view = question.view
    return bind(view.text, question.tables, signatures, view.columns, question.views)
