"""Whether a query can be maintained: what the server asks, and the one place where it is decided; pure."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from catalog.description import table_from, view_from, with_types
from catalog.errors import NotMaintainable
from catalog.schema import Tables, View, Views
from catalog.signatures import Signatures
from catalog.types import C_COLLATIONS, DEFAULT_COLLATION
from dialect.bind import bind
from dialect.bound import Query
from dialect.expectations import check_expectations
from dialect.places import Places, place_of
from dialect.postgres_scalar import write
from dialect.spark import Environment
from executors.rows import name_of
from executors.spark.executor import spark_schemas
from planner.columns import references
from planner.delta_method import methods_of
from planner.plan import Planned, plan
from planner.statistics import Statistics
from proxy.explained import Explain, Explained
from proxy.outlook import read_outlook
from proxy.verdict import Verdict

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
    binary: bool
    places: Places
    options: Options
    explain: Explain | None
    figures: Mapping[str, Any] | None = None


def read_question(words: str) -> Question | None:
    """The question that `gavial.await_verdict` asks, in base64; None for what only looks like one."""
    try:
        asked = json.loads(base64.b64decode(words))
        views = {each["oid"]: view_from(each) for each in asked["views"]}
        tables = map(table_from, asked["tables"])
        return Question(
            asked["ticket"],
            asked["server"],
            views[asked["view"]],
            {each.name: each for each in views.values()},
            {each.name: each for each in tables},
            asked["types"],
            asked["binary"],
            asked["places"],
            asked["options"],
            _explain(asked["explain"]),
            asked["figures"],
        )
    except (KeyError, TypeError, ValueError):
        return None


def _explain(asked: Mapping[str, Any] | None) -> Explain | None:
    return Explain(asked["format"], frozenset(asked["options"])) if asked else None


def judge(question: Question, signatures: Signatures) -> Verdict:
    """How the query is understood, if that was asked; raises the error that the client is to get."""
    known = with_types(signatures, question.types)
    outlook = read_outlook(question.figures, question.options) if question.figures else None
    try:
        query, planned = check(question, known, outlook.statistics if outlook else Statistics())
    except NotMaintainable as error:
        error.position = place_of(error.piece, question.places)
        raise
    if expected := question.options.get("EXPECT"):
        check_expectations(expected, question.tables, question.places.get("option", {}).get("EXPECT"))
    asked = question.explain.options if question.explain else frozenset[str]()
    schedule = outlook.schedule(planned, to_the_end="CURVE" in asked) if outlook else None
    methods = "METHOD" in question.options
    return Explained(query, planned, known, outlook, schedule, methods).verdict(question.explain)


def check(question: Question, signatures: Signatures, statistics: Statistics) -> tuple[Query, Planned]:
    """What a query must satisfy to be kept: it is bound, planned, and written for Spark."""
    view = question.view
    query = bind(view.text, question.tables, signatures, view.columns, question.views)
    collations = C_COLLATIONS | ({DEFAULT_COLLATION} if question.binary else frozenset())
    environment = Environment(signatures.types, collations)
    methods = methods_of(question.options)
    planned = plan(query, question.tables, statistics, methods=methods, environment=environment)
    spark_schemas(planned.delta, environment)
    for value in planned.values:
        write(value, {column: name_of(column) for column in references(value)})
    return query, planned
