"""Whether the warehouse holds all values that a query reads."""

from __future__ import annotations

from typing import Final

from psycopg import Connection

from catalog.capture.store import held_epoch
from catalog.capture.widening import unstorable_columns, widen
from catalog.errors import ConcurrentChange, ValueNotStorable
from coordinator.firing.work import Work
from sources.warehouse.site import CaptureSite

_WIDER: Final = "a table is copied again, with room for all of its values"


def require_storable(connection: Connection, site: CaptureSite, work: Work, position: int) -> None:
    """Raise an error if a column that is read has values that the warehouse does not hold.

    If another type has room for them, the table is copied again.
    """
    unstorable = _without_room(connection, work, position)
    if not unstorable:
        return
    with held_epoch(connection, site.epoch):
        helped = {
            (buffer, column)
            for buffer, column in unstorable
            if widen(connection, work.tables[buffer], work.attribute(buffer, column))
        }
    # Another query may have asked for that copy, which may have ended meanwhile.
    left = _without_room(connection, work, position)
    for (buffer, column), why in left.items():
        if (buffer, column) not in helped:
            raise ValueNotStorable(work.label(buffer, column), why)
    raise ConcurrentChange(_WIDER)


def _without_room(connection: Connection, work: Work, position: int) -> dict[tuple[int, int], str]:
    """The columns with such values, by buffer and number in the plan, and the reason for each."""
    names = {buffer: work.name(buffer) for buffer in work.tables}
    values = unstorable_columns(connection, frozenset(names.values()), position)
    # A query that reads a table several times has several buffers of it, each with columns of its own.
    return {
        (buffer, number): values[name, column]
        for buffer, name in names.items()
        for number, column in work.columns(buffer).items()
        if (name, column) in values
    }
