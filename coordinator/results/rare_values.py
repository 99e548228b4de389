"""Notes rare values that made a run fail, so that the next plan expects them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from psycopg import Connection

from catalog.capture.store import held_epoch
from catalog.capture.widening import expect_long_sums, expect_rare_values
from catalog.errors import DatetimeOverflow, Error, NumericValueOutOfRange
from catalog.postgres.storage import FREE_NUMERIC, Plain, Storage
from coordinator.firing.work import Work
from sources.warehouse.site import CaptureSite

_RARE: Final[Mapping[type[Error], tuple[Storage, ...]]] = {
    NumericValueOutOfRange: (FREE_NUMERIC,),
    DatetimeOverflow: (Plain.DATE, Plain.TIMESTAMP, Plain.TIMESTAMPTZ, Plain.INTERVAL),
}
"""Errors that may be due to unexpected values, and how columns with such values are stored."""

_MET: Final = (
    *("the numeric value ", "a number has too many digits ", "a product has more than "),
    *("cannot subtract infinite timestamps"),
    *("the year of an infinite ", "the epoch of an infinite "),
)
PLANNED_AGAIN: Final = "it is planned again, for numbers of any length and infinite values"


def note_rare_values(connection: Connection, site: CaptureSite, work: Work, error: Error) -> bool:
    """Note that columns or the query have such values; whether another plan may do better with that."""
    storages = _RARE.get(type(error))
    if storages is None or not error.message.startswith(_MET):
        return False
    with held_epoch(connection, site.epoch):
        changed = [
            expect_rare_values(connection, relation, work.stored_as(buffer, storages))
            for buffer, relation in work.tables.items()
        ]
        if isinstance(error, NumericValueOutOfRange):
            changed.append(expect_long_sums(connection, work.query))
    return any(changed)
