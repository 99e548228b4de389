"""Tables that join capture: each is copied at one position, and from there on the stream has its changes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable
from typing import Final

import psycopg
from psycopg import Connection

from catalog.capture.batch import Batch
from catalog.capture.joining import begin_joining, blockers, joining_tables, note_state, ungranted
from catalog.capture.store import held_epoch
from catalog.errors import Error
from catalog.failpoints import failpoint
from catalog.postgres.shape import Shape, read_shape
from catalog.rows import values_of
from sources.server.position import Position, Stopped, take_position
from sources.tables.registration import TableChanged, register
from sources.tables.snapshot import copy_table
from sources.warehouse.site import CaptureSite

log = logging.getLogger(__name__)

_POLL_SECONDS: Final = 0.05
# Rights, row security, damaged pages: errors that concern one table, and not the server.
_OF_THE_TABLE: Final = (
    psycopg.ProgrammingError,
    psycopg.InternalError,
    psycopg.DataError,
    psycopg.NotSupportedError,
)
_BEGINNING: Final = """
    SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'gavial capture' AND wait_event_type = 'Lock'
        AND query_start < now() - interval '1 second'
"""


def join_tables(
    connection: Connection,
    site: CaptureSite,
    passed: Callable[[], int],
    go_on: Callable[[], bool],
    discard: Callable[[Iterable[str]], None],
) -> bool:
    """Copy the tables that wait, all at one position; False if none did.

    `discard` is given the replaced files, which somebody may be reading. The stream captures a table from the
    moment it is published; `passed` gives the position up to which everything is captured. A table that
    changes during its copy goes on waiting; one that cannot be stored stops.
    """
    waiting = joining_tables(connection)
    if not waiting:
        return False
    try:
        _begin(connection, site, waiting)
    except psycopg.errors.LockNotAvailable:
        return False
    shapes = [shape for table in waiting if (shape := _storable_shape(connection, site, table))]

    with take_position(site.address, go_on, lambda process: tell(connection, site, process)) as position:
        failpoint("join position taken")
        for shape in shapes:
            _join(
                connection=connection,
                site=site,
                position=position,
                shape=shape,
                passed=passed,
                go_on=go_on,
                discard=discard,
            )
    return True


def tell(connection: Connection, site: CaptureSite, process: int) -> None:
    """Note in the catalog which process the waiting tables wait for."""
    text = f"waits for {blockers(connection, process)}"
    log.info("capture of tables %s", text)
    _note(connection, site, joining_tables(connection), "joining", text)


def tell_of_slot(connection: Connection, site: CaptureSite) -> None:
    """Tell users which process the creation of the slot waits for."""
    for process in values_of(connection, _BEGINNING):
        tell(connection, site, process)


def _begin(connection: Connection, site: CaptureSite, relations: list[int]) -> None:
    with held_epoch(connection, site.epoch):
        begin_joining(connection, relations)


def _storable_shape(connection: Connection, site: CaptureSite, relation: int) -> Shape | None:
    try:
        return read_shape(connection, relation)
    except Error as error:
        _stop(connection, site, relation, error)
        return None


def _join(
    connection: Connection,
    site: CaptureSite,
    position: Position,
    shape: Shape,
    passed: Callable[[], int],
    go_on: Callable[[], bool],
    discard: Callable[[Iterable[str]], None],
) -> None:
    """Join one table; the files of its copy are removed unless the manifest certainly names them."""
    _note(connection, site, [shape.relation], "copying", None)
    try:
        batches = _copy(connection, site, position, shape, go_on)
    except TableChanged:
        log.info("table %d changed while it was copied; it is copied again", shape.relation)
        return
    except (Error, *_OF_THE_TABLE) as error:
        _stop(connection, site, shape.relation, error)
        return
    failpoint("join copied")
    try:
        wait_for(position.lsn, passed, go_on)
        replaced = register(connection, site, position.lsn, shape, batches)
    except (Stopped, TableChanged) as error:
        site.warehouse.remove(batch.file for batch in batches)
        if isinstance(error, Stopped):
            raise
        log.info("table %d changed after it was copied; it is copied again", shape.relation)
    else:
        failpoint("join registered")
        discard(replaced)
        log.info("table %d is captured from %X on", shape.relation, position.lsn)


def _copy(
    connection: Connection, site: CaptureSite, position: Position, shape: Shape, go_on: Callable[[], bool]
) -> tuple[Batch, ...]:
    """Copy the table; any failure on a table that has changed meanwhile counts as that change."""
    try:
        return copy_table(site, position, shape, go_on)
    except psycopg.errors.LockNotAvailable:
        raise TableChanged from None
    except (Error, psycopg.Error):
        if read_shape(connection, shape.relation) != shape:
            raise TableChanged from None
        raise


def wait_for(lsn: int, passed: Callable[[], int], go_on: Callable[[], bool]) -> None:
    """Wait until everything up to a position is captured."""
    while passed() < lsn:
        if not go_on():
            raise Stopped
        time.sleep(_POLL_SECONDS)


def _stop(connection: Connection, site: CaptureSite, relation: int, error: Error | psycopg.Error) -> None:
    """Stop this table alone; queries on other tables go on."""
    words = str(error.message if isinstance(error, Error) else error.diag.message_primary or error)
    missing = ungranted(connection, relation)
    if missing is not None:
        words = f"{words} ({missing})"
    log.error("table %d cannot be captured: %s", relation, words)
    _note(connection, site, [relation], "stopped", words)


def _note(
    connection: Connection, site: CaptureSite, relations: Collection[int], state: str, detail: str | None
) -> None:
    """Tell users the state of these tables."""
    with held_epoch(connection, site.epoch):
        note_state(connection, relations, state, detail)
