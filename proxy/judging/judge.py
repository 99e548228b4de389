"""Whether a query can be maintained: what the server asks, and the one place where it is decided; pure."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from catalog.errors import NotMaintainable
from catalog.postgres.description import Described, with_types
from catalog.postgres.signatures import Signatures
from coordinator.planning.planning import KeptPlan, bind_described, plan_as_kept, plan_bound
from coordinator.planning.statistics import statistics_from_json, statistics_of
from dialect.statements.expectations import check_expectations
from dialect.statements.places import Places, place_of
from executors.executor import Engine
from planner.delta.methods import methods_of
from planner.explain.schedule_text import NOT_MEASURED
from proxy.judging.explained import Explain, Explained
from proxy.judging.period_forecast import measured_from, read_period_forecast
from proxy.wire.verdict import Verdict

Options: TypeAlias = Mapping[str, Any]


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
            ticket=asked["ticket"],
            server=asked["server"],
            described=Described.of(asked),
            places=asked["places"],
            options=asked["options"],
            explain=_explain(asked["explain"]),
            statistics=asked["statistics"],
            plan=asked["plan"],
            figures=asked["figures"],
        )
    except (KeyError, TypeError, ValueError):
        return None


def _explain(asked: Mapping[str, Any] | None) -> Explain | None:
    return Explain(asked["format"], frozenset(asked["options"])) if asked else None


def judge(question: Question, signatures: Signatures, engine: Engine) -> Verdict:
    """How the query is understood, if that was asked; raises the error that the client is to get.

    The engine, which nobody starts here, says what it can compute.
    """
    described, options = question.described, question.options
    statistics, methods = statistics_of(question.statistics), methods_of(options)
    try:
        bound = bind_described(described, signatures)
        as_kept = plan_as_kept(engine, bound, _kept_plan(question), methods)
        maintainable = as_kept or plan_bound(engine, bound, statistics, methods)
    except NotMaintainable as error:
        error.position = place_of(error.piece, question.places)
        raise
    if expected := options.get("EXPECT"):
        check_expectations(expected, described.tables, question.places.get("option", {}).get("EXPECT"))
    asked = question.explain.options if question.explain else frozenset[str]()
    forecast = None
    if question.figures:
        engines = engine.engines(maintainable.planned.delta, maintainable.schemas, bound.environment)
        forecast = read_period_forecast(question.figures, question.statistics, options, engines)
    paces = question.plan["paces"] if question.plan is not None and as_kept is not None else None
    foreseen = (
        forecast.foreseen(maintainable, statistics, paces, to_the_end="CURVE" in asked) if forecast else None
    )
    schedule = foreseen.schedule if foreseen else None
    known = with_types(signatures, described.types)
    explained = Explained(
        bound.query,
        maintainable,
        known,
        forecast,
        schedule,
        foreseen.states if foreseen else None,
        are_methods_told="METHOD" in options,
        is_kept=None if question.plan is None else as_kept is not None,
        measured=measured_from(question.figures)
        if question.figures and as_kept is not None
        else NOT_MEASURED,
        status="active" if question.plan is None else question.plan["status"],
        from_scratch=forecast.from_scratch(maintainable, statistics) if forecast and not schedule else (),
    )
    return explained.verdict(question.explain)


def _kept_plan(question: Question) -> KeptPlan | None:
    plan = question.plan
    return None if plan is None else KeptPlan(plan["fingerprint"], statistics_from_json(plan["statistics"]))
