"""Cases cut down to what is still wrong with them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TypeVar

from tests.support.standing.cases import Case, Change, Insert, Query, Statement, Table, Update

T = TypeVar("T")


def shrink(
    case: Case,
    query: str,
    fails: Callable[[Case], bool],
    attempts: int,
    targets: frozenset[int] = frozenset(),
    until: float = math.inf,
) -> Case:
    """The smallest case found in so many attempts that still fails; only this query is kept.

    These targets of it are tried alone, each with the first. After `until`, of the monotonic clock, no
    attempt begins.
    """
    remaining = [attempts]

    def still(cut: Case) -> bool:
        if remaining[0] <= 0 or time.monotonic() > until:
            remaining[0] = 0
            return False
        remaining[0] -= 1
        return fails(cut)

    alone = replace(
        case, queries=tuple(other for other in case.queries if other.name == query) or case.queries
    )
    if alone != case and still(alone):
        case = alone
    for target in sorted(targets - {0})[:3]:
        others = frozenset(range(1, len(alone.queries[0].targets))) - {target}
        narrow = replace(case, queries=(alone.queries[0].without(others),))
        if len(case.queries) == 1 and others and still(narrow):
            case = narrow
            break
    changed = True
    while changed and remaining[0] > 0:
        changed = False
        for cut in _cuts:
            smaller = cut(case, still)
            changed = changed or smaller != case
            case = smaller
    return case


def without_some(items: tuple[T, ...], still: Callable[[tuple[T, ...]], bool]) -> tuple[T, ...]:
    """The items that are needed: halves are left out first, then quarters, and so on down to each alone."""
    size = len(items)
    while size and items:
        start = 0
        while start < len(items):
            fewer = items[:start] + items[start + size :]
            if fewer != items and still(fewer):
                items = fewer
            else:
                start += size
        size //= 2
    return items


def _steps(case: Case, still: Callable[[Case], bool]) -> Case:
    return replace(case, steps=without_some(case.steps, lambda steps: still(replace(case, steps=steps))))


def _targets(case: Case, still: Callable[[Case], bool]) -> Case:
    for number, query in enumerate(case.queries):

        def having(kept: tuple[int, ...], query: Query = query, number: int = number) -> Case:
            left = query.without(frozenset(range(len(query.targets))) - frozenset(kept))
            return replace(case, queries=(*case.queries[:number], left, *case.queries[number + 1 :]))

        places = tuple(range(len(query.targets)))
        kept = without_some(places, lambda places: bool(places) and still(having(places)))
        if kept != places:
            return having(kept)
    return case


def _tables(case: Case, still: Callable[[Case], bool]) -> Case:
    """Tables that no query names, with what is done to them."""
    for table in case.tables:
        if not any(table.name in query.text for query in case.queries):
            cut = without_table(case, table)
            if still(cut):
                return cut
    return case


def without_table(case: Case, table: Table) -> Case:
    """The case without a table."""

    def kept(statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(statement for statement in statements if f" {table.name} " not in f"{statement.sql()} ")

    steps = tuple(Change(kept(step.statements)) if isinstance(step, Change) else step for step in case.steps)
    tables = tuple(other for other in case.tables if other != table)
    return replace(case, tables=tables, fill=kept(case.fill), steps=steps)


def _columns(case: Case, still: Callable[[Case], bool]) -> Case:
    """Columns that no query names, first all at once."""
    for table in case.tables:
        names = tuple(
            column.name
            for column in table.columns
            if not any(f".{column.name}" in query.text for query in case.queries)
            and f"({column.name})" not in table.tail
        )
        kept = without_some(names, lambda left: still(without_columns(case, table, set(names) - set(left))))  # noqa: B023
        if kept != names:
            return without_columns(case, table, set(names) - set(kept))
    return case


def without_columns(case: Case, table: Table, names: set[str]) -> Case:
    """The case without some columns of a table, in no statement either."""

    def cut(statement: Statement) -> Iterator[Statement]:
        if not isinstance(statement, Insert | Update) or statement.table != table.name:
            yield statement
            return
        values = tuple(
            (name, value) for name, value in statement.values if name not in names and value not in names
        )
        if values:
            yield replace(statement, values=values)

    def all_cut(statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(left for statement in statements for left in cut(statement))

    columns = tuple(column for column in table.columns if column.name not in names)
    tables = tuple(replace(other, columns=columns) if other == table else other for other in case.tables)
    steps = tuple(
        Change(all_cut(step.statements)) if isinstance(step, Change) else step for step in case.steps
    )
    return replace(case, tables=tables, fill=all_cut(case.fill), steps=steps)


def _rows(case: Case, still: Callable[[Case], bool]) -> Case:
    return replace(case, fill=without_some(case.fill, lambda fill: still(replace(case, fill=fill))))


def _changes(case: Case, still: Callable[[Case], bool]) -> Case:
    for number, step in enumerate(case.steps):
        if isinstance(step, Change):
            having = partial(_with_step, case, number)
            case = having(without_some(step.statements, lambda left: still(having(left))))  # noqa: B023
    return case


def _with_step(case: Case, number: int, statements: tuple[Statement, ...]) -> Case:
    return replace(case, steps=(*case.steps[:number], Change(statements), *case.steps[number + 1 :]))


def _prelude(case: Case, still: Callable[[Case], bool]) -> Case:
    return replace(case, prelude=without_some(case.prelude, lambda left: still(replace(case, prelude=left))))


_cuts = (_steps, _tables, _targets, _columns, _rows, _changes, _prelude)
