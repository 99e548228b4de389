"""What a plan may keep to look rows up: the states that an engine can make of it, with their sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from catalog.postgres.schema import TableName
from planner.cost.engines import Keeping
from planner.delta.weighted import DeltaPlan, TableBuffer
from planner.firing.states import State, Uses, states_of
from planner.pace.simulation import Simulation

_SOME: Final = 0.01
"""The share of a table that is taken to change where nothing is known of what comes to it."""

_FEWEST: Final = 100.0
"""Such a table brings no fewer rows than these."""


@dataclass(frozen=True, slots=True)
class Keepable:
    """A state that may be kept: what looks it up, its rows and bytes, and whether that was measured."""

    state: State
    uses: Uses
    rows: float
    bytes: int
    is_measured: bool = False


def keepable(simulation: Simulation, measured: Mapping[State, int]) -> tuple[Keepable, ...]:
    """The states of a plan that are large enough to be kept by an engine, with what they take there.

    `measured`: the bytes of those that are kept now, or were.
    """
    keeping = next((engine.keeping for engine in simulation.costs.engines if engine.keeping), None)
    if keeping is None:
        return ()
    states = []
    for state, uses in states_of(simulation.plan).items():
        rows = _rows(simulation, state.buffer)
        possible = uses.lookups & keeping.lookups
        if not possible or (rows < keeping.fewest_rows and state not in measured):
            continue
        size = measured.get(state, round(rows * _width(simulation.plan, keeping, state, uses)))
        states.append(Keepable(state, replace(uses, lookups=possible), rows, size, state in measured))
    return tuple(states)


def with_news(simulation: Simulation, complete: frozenset[TableName]) -> Simulation:
    """The simulation of a period that brings something to each table that is not complete.

    Where nothing is known of what comes, a hundredth of the table is taken to change, as it usually does.
    """
    arrivals = dict(simulation.arrivals)
    for table in simulation.tables:
        if arrivals[table.number].changed or table.table in complete:
            continue
        rows = max(_SOME * simulation.sizes[table.number], _FEWEST)
        arrivals[table.number] = simulation.kinds[table.number].scaled(rows)
    return replace(simulation, arrivals=arrivals)


def _rows(simulation: Simulation, buffer: int) -> float:
    """The rows of a buffer at the end of the period."""
    if buffer in simulation.arrivals:
        return simulation.rows_in_the_end[buffer]
    places = {subplan.writes: place for place, subplan in enumerate(simulation.plan.subplans)}
    scratch, _ = simulation.estimates[places[buffer]]
    return scratch.outcome.rows


def _width(plan: DeltaPlan, keeping: Keeping, state: State, uses: Uses) -> float:
    """The bytes of a row of a state: of the columns that are read of it, and what each row has besides."""
    buffer = plan.buffers[state.buffer]
    numbers = [field.column for field in buffer.fields]
    if isinstance(buffer, TableBuffer):
        numbers = list(buffer.attributes)
    widths = keeping.widths[state.buffer]
    by_number = {number: widths[field.column] for number, field in zip(numbers, buffer.fields, strict=True)}
    usual = sum(by_number.values()) / max(len(by_number), 1)
    return keeping.beside + sum(by_number.get(number, usual) for number in uses.columns)
