"""Whether a query can be maintained: what the server asks, and the one place where it is decided; pure."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from catalog.errors import NotMaintainable
from catalog.postgres.description import Described, with_types
from catalog.postgres.signatures import Signatures
from coordinator.planning.planning import KeptPlan, bind_described, plan_as_kept, plan_bound
from coordinator.planning.statistics import statistics_from_json, statistics_of
from dialect.statements.expectations import check_expectations
from dialect.statements.places import Places, place_of
from executors.settings import EngineSettings
from executors.spark.executor import SparkEngine
from planner.delta.methods import methods_of
from proxy.judging.explained import Explain, Explained
from proxy.judging.period_forecast import read_period_forecast
from proxy.wire.verdict import Verdict

Options: TypeAlias = Mapping[str, Any]

_ENGINE: Final = SparkEngine.of(EngineSettings(Path()))
"""Nothing is started here: it says what it can compute."""


@dataclass(frozen=True, slots=True)
class Question:
    """A hidden view with everything below it, and the number whose lock says yes; the next one says no."""

    ticket: int
    server: str
    described: Described
    places: Places
    options: Options
    explain: Explain | None
    statistics: Sequence[Mapping[str, Any]] = ()
    plan: Mapping[str, Any] | None = None
    figures: Mapping[str, Any] | None = None


def read_question(words: str) -> Question | None:
    """The question that `gavial.await_verdict` asks, in base64; None for what only looks like one."""
    try:
        asked = json.loads(base64.b64decode(words))
        return Question(
            asked["ticket"],
            asked["server"],
            Described.of(asked),
            asked["places"],
            asked["options"],
            _explain(asked["explain"]),
            asked["statistics"],
            asked["plan"],
            asked["figures"],
        )
    except (KeyError, TypeError, ValueError):
        return None


def _explain(asked: Mapping[str, Any] | None) -> Explain | None:
    return Explain(asked["format"], frozenset(asked["options"])) if asked else None


def judge(question: Question, signatures: Signatures) -> Verdict:
    """How the query is understood, if that was asked; raises the error that the client is to get."""
    described, options = question.described, question.options
    statistics, methods = statistics_of(question.statistics), methods_of(options)
    try:
        bound = bind_described(described, signatures)
        as_kept = plan_as_kept(_ENGINE, bound, _kept_plan(question), methods)
        maintainable = as_kept or plan_bound(_ENGINE, bound, statistics, methods)
    except NotMaintainable as error:
        error.position = place_of(error.piece, question.places)
        raise
    if expected := options.get("EXPECT"):
        check_expectations(expected, described.tables, question.places.get("option", {}).get("EXPECT"))
    asked = question.explain.options if question.explain else frozenset[str]()
    forecast = (
        read_period_forecast(question.figures, question.statistics, options) if question.figures else None
    )
    paces = question.plan["paces"] if question.plan is not None and as_kept is not None else None
    schedule = (
        forecast.schedule(maintainable, statistics, paces, to_the_end="CURVE" in asked) if forecast else None
    )
    known = with_types(signatures, described.types)
    explained = Explained(
        bound.query,
        maintainable,
        known,
        forecast,
        schedule,
        are_methods_told="METHOD" in options,
        is_kept=None if question.plan is None else as_kept is not None,
        status="active" if question.plan is None else question.plan["status"],
    )
    return explained.verdict(question.explain)


def _kept_plan(question: Question) -> KeptPlan | None:
    plan = question.plan
    return None if plan is None else KeptPlan(plan["fingerprint"], statistics_from_json(plan["statistics"]))
