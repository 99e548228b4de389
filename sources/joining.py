"""Tables that join capture: each is copied at one position, and from there on the stream has its changes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection
from typing import Final

import psycopg
from psycopg import Connection

from catalog.batch import Batch
from catalog.errors import Error
from catalog.failpoints import failpoint
from catalog.store import hold_epoch
from sources.place import Place
from sources.position import Position, Stopped, blockers, take_position
from sources.registration import TableChanged, register
from sources.shape import Shape, read_shape
from sources.snapshot import copy_table

log = logging.getLogger(__name__)

_POLL_SECONDS: Final = 0.05


def join_tables(
    connection: Connection, place: Place, passed: Callable[[], int], go_on: Callable[[], bool]
) -> bool:
    """Copy the tables that wait, all at one position; False if none did.

    The stream captures a table from the moment it is published: up to where it has captured everything is
    what `passed` tells. A table that changes under its copy goes on waiting; one that cannot be stored stops.
    """
    waiting = _waiting_tables(connection)
    if not waiting:
        return False
    shapes = [shape for each in waiting if (shape := _storable_shape(connection, place, each))]

    def tell(process: int) -> None:
        text = f"waits for {blockers(connection, process)}"
        log.info("the copy of %d tables %s", len(shapes), text)
        _note(connection, place, [shape.relation for shape in shapes], "joining", text)

    with take_position(place.address, go_on, tell) as position:
        failpoint("join position taken")
        for shape in shapes:
            _join(connection, place, position, shape, passed, go_on)
    return True


def _waiting_tables(connection: Connection) -> list[int]:
    """Those of a coordinator that was killed while it copied are among them."""
    found = connection.execute(
        "SELECT s.relation::oid::int8 FROM gavial.sources s JOIN pg_class c ON c.oid = s.relation "
        "WHERE s.state IN ('joining', 'copying') ORDER BY 1"
    )
    return [row[0] for row in found]


def _storable_shape(connection: Connection, place: Place, relation: int) -> Shape | None:
    try:
        return read_shape(connection, relation)
    except Error as error:
        _stop(connection, place, relation, error)
        return None


def _join(
    connection: Connection,
    place: Place,
    position: Position,
    shape: Shape,
    passed: Callable[[], int],
    go_on: Callable[[], bool],
) -> None:
    """One table; what its copy left is removed unless it is certain that the manifest names it."""
    _note(connection, place, [shape.relation], "copying", None)
    batches: tuple[Batch, ...] = ()
    try:
        batches = copy_table(place, position, shape, go_on)
        failpoint("join copied")
        wait_for(position.lsn, passed, go_on)
        replaced = register(connection, place, position.lsn, shape, batches)
    except (Stopped, TableChanged) as error:
        place.warehouse.remove(batch.file for batch in batches)
        if isinstance(error, Stopped):
            raise
        log.info("table %d changed while it was copied; it is copied again", shape.relation)
    except Error as error:
        _stop(connection, place, shape.relation, error)
    except psycopg.Error:
        if read_shape(connection, shape.relation) == shape:
            raise
        log.info("table %d changed while it was copied; it is copied again", shape.relation)
    else:
        failpoint("join registered")
        place.warehouse.remove(replaced)
        log.info("table %d is captured from %X on", shape.relation, position.lsn)


def wait_for(lsn: int, passed: Callable[[], int], go_on: Callable[[], bool]) -> None:
    """Until everything up to a position is captured."""
    while passed() < lsn:
        if not go_on():
            raise Stopped
        time.sleep(_POLL_SECONDS)


def _stop(connection: Connection, place: Place, relation: int, error: Error) -> None:
    log.error("table %d cannot be captured: %s", relation, error.message)
    _note(connection, place, [relation], "stopped", error.message)


def _note(
    connection: Connection, place: Place, relations: Collection[int], state: str, detail: str | None
) -> None:
    """Tell users what becomes of these tables."""
    with connection.transaction():
        hold_epoch(connection, place.epoch)
        connection.execute(
            "UPDATE gavial.sources SET state = %s, detail = %s WHERE relation::oid = ANY (%s::oid[])",
            (state, detail, list(relations)),
        )
