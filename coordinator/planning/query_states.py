"""The states of a query, as the engine and the catalog name them; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from math import inf
from typing import Any, Final

from catalog.capture.arrivals import KnownArrivals
from catalog.postgres.schema import TableName
from catalog.queries.arrangements import ArrangementRow
from catalog.queries.states import DecidedState
from coordinator.firing.work import Work
from dialect.statements.expectations import rows_expected
from dialect.statements.sizes import UNLIMITED, parse_size
from executors.executor import StateBudget, StateName
from executors.rows import name_of
from planner.firing.states import State
from planner.state.choose import StateChoice

COMPLETE_AFTER: Final = timedelta(days=7)
"""A table to which nothing came for so long, while rows came to others, is taken to be complete."""


def budget_of(options: Mapping[str, Any]) -> float:
    """The bytes that a query may keep by its MEMORY_BUDGET."""
    text = str(options.get("MEMORY_BUDGET", UNLIMITED))
    return inf if text == UNLIMITED else float(parse_size(text))


def complete_tables(
    tables: Mapping[TableName, int], options: Mapping[str, Any], known: KnownArrivals
) -> frozenset[TableName]:
    """The tables of which EXPECT says that nothing comes, and those to which nothing came for long."""
    declared = {name for name, rows in rows_expected(options.get("EXPECT"), tables).items() if not rows}
    latest: dict[int, datetime] = {}
    for hour in known.hours:
        latest[hour.relation] = max(hour.hour, latest.get(hour.relation, hour.hour))
    is_long = known.since is not None and known.now - known.since > COMPLETE_AFTER
    quiet = {
        name
        for name, oid in tables.items()
        if is_long and latest and (oid not in latest or known.now - latest[oid] > COMPLETE_AFTER)
    }
    return frozenset(declared | quiet)


def state_budget(work: Work, choice: StateChoice, is_bounded: bool = False) -> StateBudget:
    """What the engine may keep for the query; where its owner bounds that, nothing besides."""
    dropped = frozenset(
        (work.name(buffer), frozenset(work.columns(buffer)[column] for column in columns))
        for buffer, columns in choice.scanned
    )
    return StateBudget(str(work.query), choice.budget, dropped, not is_bounded)


def measured_states(
    work: Work, states: Iterable[State], rows: Iterable[ArrangementRow]
) -> Mapping[State, int]:
    """The bytes of those of these states of the query that the engine keeps, or tried to keep."""
    sizes: dict[StateName, int] = {}
    for row in rows:
        name = row.buffer, frozenset(row.key)
        sizes[name] = max(sizes.get(name, 0), row.bytes if row.kept else row.predicted_bytes)
    return {state: sizes[name] for state in states if (name := _name(work, state)) in sizes}


def decided_states(work: Work, choice: StateChoice) -> Sequence[DecidedState]:
    """The decisions as the catalog keeps them."""
    return [
        DecidedState(
            buffer=work.name(decision.state.buffer),
            key=sorted(_name(work, decision.state)[1]),
            kept=decision.is_kept,
            why=decision.why,
            predicted_bytes=decision.bytes,
        )
        for decision in choice.decisions
    ]


def _name(work: Work, state: State) -> StateName:
    """What the engine calls a state: columns of tables are named by their attributes, others by number."""
    is_table = state.buffer in work.tables
    columns = (f"a{number}" if is_table else name_of(number) for number in state.key)
    return work.name(state.buffer), frozenset(columns)
