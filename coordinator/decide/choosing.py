"""For which query paces are chosen next: after each of its results, and when its period has drifted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import UUID

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
    unchecked: tuple[UUID, ...] = ()


def next_choice(
    state: Choices, facts: Facts, able: Mapping[UUID, Running]
) -> tuple[Choices, ReadPeriods | CheckDrift | ChoosePaces | None]:
    """What is to be done for the paces of one query; None where all will do."""
    ready = {
        id: query
        for id, query in able.items()
        if query.status == "active" and query.answered and query.captured
    }
    state = _among(state, able, ready)
    if state.unchecked:
        query = ready[state.unchecked[0]]
        return replace(state, unchecked=state.unchecked[1:]), CheckDrift(query)
    begun = tuple(query.id for query in ready.values() if _is_begun(state, query))
    if begun and facts.seconds >= state.next_look:
        return replace(state, next_look=facts.seconds + _LOOK_SECONDS), ReadPeriods(begun)
    for query in ready.values():
        if _is_late(state, query, facts.seconds):
            chosen = state.chosen.get(query.id)
            return state, ChoosePaces(query, chosen is None or _is_for(chosen, query))
    return state, None


def after_periods(state: Choices, arrived: Mapping[UUID, Mapping[int, int]], seconds: float) -> Choices:
    """Check the periods in which rows arrived since the last look but one, or an hour has passed."""
    looks = dict(state.looks)
    unchecked = []
    for id, rows in arrived.items():
        last = looks.get(id)
        is_news = last is None or last.arrived != rows
        if last is None or is_news or last.is_news or seconds - last.seconds > _LONGEST_LOOK_SECONDS:
            unchecked.append(id)
            looks[id] = _Look(rows, seconds, is_news)
    return replace(state, looks=looks, unchecked=tuple(unchecked))


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


def _among(state: Choices, able: Mapping[UUID, Running], ready: Mapping[UUID, Running]) -> Choices:
    def kept(ids: Iterator[UUID]) -> tuple[UUID, ...]:
        return tuple(id for id in ids if id in ready)

    return replace(
        state,
        chosen={id: chosen for id, chosen in state.chosen.items() if id in able},
        drifted=state.drifted & able.keys(),
        looks={id: look for id, look in state.looks.items() if id in able},
        unchecked=kept(iter(state.unchecked)),
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
