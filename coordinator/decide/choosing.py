"""For which query paces are chosen next: after each of its results, and when its period has drifted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import UUID

from catalog.queries.paces import Period
from catalog.queries.running import Running
from coordinator.decide.actions import CheckDrift, ChoosePaces, ReadPeriods
from coordinator.decide.facts import Facts

_LOOK_SECONDS: Final = 20.0
_LONGEST_LOOK_SECONDS: Final = 3600.0
_REST: Final = 20.0
"""Choosing paces takes no more of the time than one part in so many."""


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The result and the options that paces were chosen for, and until when they will do."""

    position: int | None
    options: Mapping[str, Any]
    until: float


@dataclass(frozen=True, slots=True)
class _Look:
    """The rows that had arrived at a look, and whether they were news: what follows is seen at the next."""

    arrived: Mapping[int, int]
    seconds: float
    is_news: bool


@dataclass(frozen=True, slots=True)
class Choices:
    """What paces were chosen for, which periods have drifted since, and which are still to be checked."""

    chosen: Mapping[UUID, _Chosen] = field(default_factory=dict)
    drifted: frozenset[UUID] = frozenset()
    looks: Mapping[UUID, _Look] = field(default_factory=dict)
    next_look: float = float("-inf")
    unchecked: Mapping[UUID, Period] = field(default_factory=dict)


def next_choice(
    state: Choices, facts: Facts, able: Mapping[UUID, Running]
) -> tuple[Choices, ReadPeriods | CheckDrift | ChoosePaces | None]:
    """What is to be done for the paces of one query; None where all will do."""
    choosable = {
        id: query
        for id, query in able.items()
        if query.status == "active" and query.has_result and query.captured
    }
    state = _among(state, able, choosable)
    for id, period in state.unchecked.items():
        left = {other: unchecked for other, unchecked in state.unchecked.items() if other != id}
        return replace(state, unchecked=left), CheckDrift(choosable[id], period)
    begun = tuple(query.id for query in choosable.values() if _is_begun(state, query))
    if begun and facts.seconds >= state.next_look:
        return replace(state, next_look=facts.seconds + _LOOK_SECONDS), ReadPeriods(begun)
    for query in choosable.values():
        if _is_late(state, query, facts.seconds):
            chosen = state.chosen.get(query.id)
            return state, ChoosePaces(query, chosen is None or _is_for(chosen, query))
    return state, None


def after_periods(state: Choices, periods: Mapping[UUID, Period], seconds: float) -> Choices:
    """Check the periods in which rows arrived since the last look but one, or an hour has passed."""
    looks = dict(state.looks)
    unchecked = {}
    for id, period in periods.items():
        last = looks.get(id)
        is_news = last is None or last.arrived != period.arrived
        if last is None or is_news or last.is_news or seconds - last.seconds > _LONGEST_LOOK_SECONDS:
            unchecked[id] = period
            looks[id] = _Look(period.arrived, seconds, is_news)
    return replace(state, looks=looks, unchecked=unchecked)


def after_check(state: Choices, action: CheckDrift, has_drifted: bool) -> Choices:
    """The state when it is known whether a period has drifted."""
    return replace(state, drifted=state.drifted | {action.query.id}) if has_drifted else state


def after_choice(state: Choices, action: ChoosePaces, queries: int, began: float, ended: float) -> Choices:
    """The state when paces were chosen, or could not be: for a while they stay as they are.

    `queries`: the number of those that take turns.
    """
    query = action.query
    chosen = _Chosen(query.position, query.options, ended + _REST * queries * (ended - began))
    return replace(state, chosen={**state.chosen, query.id: chosen}, drifted=state.drifted - {query.id})


def _among(state: Choices, able: Mapping[UUID, Running], choosable: Mapping[UUID, Running]) -> Choices:
    """What is kept of these queries; a period that was read and has ended since is not checked."""
    return replace(
        state,
        chosen={id: chosen for id, chosen in state.chosen.items() if id in able},
        drifted=state.drifted & able.keys(),
        looks={id: look for id, look in state.looks.items() if id in able},
        unchecked={
            id: period
            for id, period in state.unchecked.items()
            if id in choosable and _is_begun(state, choosable[id])
        },
    )


def _is_begun(state: Choices, query: Running) -> bool:
    """Whether paces were chosen in the period that is under way."""
    chosen = state.chosen.get(query.id)
    return chosen is not None and chosen.position == query.position


def _is_for(chosen: _Chosen, query: Running) -> bool:
    return (chosen.position, chosen.options) == (query.position, query.options)


def _is_late(state: Choices, query: Running, seconds: float) -> bool:
    chosen = state.chosen.get(query.id)
    if chosen is None or chosen.options != query.options:
        return True
    has_changed = chosen.position != query.position or query.id in state.drifted
    return has_changed and chosen.until < seconds
