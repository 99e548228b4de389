"""Finds the databases of a server that have tables to capture, and has each followed."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass
from typing import Final

import psycopg
from psycopg import Connection, OperationalError
from psycopg.conninfo import make_conninfo

from catalog.rows import rows_of
from coordinator.failures import Reports
from coordinator.firing.engine import EngineThread
from coordinator.process.database import Database, has_work
from coordinator.process.orders import Orders
from executors.engines import engine_of
from sources.server.session import connect

log = logging.getLogger(__name__)

_LOOK_SECONDS: Final = 0.5
_VISIT_SECONDS: Final = 10.0
_MAINTENANCE: Final = "postgres"

# As Gavial's statements look to the server.
_DATABASES: Final = """
    SELECT d.datname::text AS name, coalesce(s.tup_inserted, 0) AS inserted, EXISTS (
        SELECT FROM pg_stat_activity a WHERE a.datid = d.oid AND a.query LIKE 'CALL gavial.%'
            AND (a.state = 'active' OR a.state_change > clock_timestamp() - interval '2 seconds')
            OR a.datid = d.oid AND a.query LIKE 'SELECT % gavial.verify(%' AND a.state = 'active') AS is_asked
    FROM pg_database d LEFT JOIN pg_stat_database s ON s.datid = d.oid
    WHERE d.datallowconn AND NOT d.datistemplate AND has_database_privilege(d.oid, 'CONNECT')
"""


@dataclass(frozen=True, slots=True)
class _DatabaseState:
    """A database, the rows inserted there, and whether a statement of Gavial's is being run."""

    name: str
    inserted: int
    is_asked: bool


@dataclass(frozen=True, slots=True)
class Visit:
    """When a database was last looked into, and how many rows had been inserted there."""

    at: float
    inserted: int


class Server:
    """Looks for databases with tables to capture, and has each followed by a thread of its own.

    The others are not kept from being dropped or copied: they are visited, for a moment, when a statement of
    Gavial's is run there, or rows were inserted; and now and then, for the server may tell neither at once.
    """

    def __init__(self, orders: Orders) -> None:
        self._orders = orders
        self._engine = EngineThread(engine_of(orders.engines))
        self._followed: dict[str, Database] = {}
        self._visits: dict[str, Visit] = {}

    def follow(self, stop: threading.Event) -> None:
        """Follow the server's databases until `stop`; a server that does not answer is tried again."""
        reports, has_connected = Reports(log), False
        while not stop.is_set():
            try:
                with self._connect() as connection:
                    reports.clear()
                    has_connected = True
                    while not stop.wait(_LOOK_SECONDS):
                        self._look(connection)
            except psycopg.Error as error:
                if has_connected:  # before that, the command itself says what is wrong with the server
                    reports.say("cannot look for databases", error)
                stop.wait(_LOOK_SECONDS)
        for database in self._followed.values():
            database.stop()
        for database in self._followed.values():
            database.wait()
        self._engine.stop()

    def _connect(self) -> Connection:
        """Connect to a database that nobody drops or copies, where there is one."""
        try:
            return connect(self._address(_MAINTENANCE))
        except OperationalError:
            return connect(self._orders.address)

    def _look(self, connection: Connection) -> None:
        databases = {state.name: state for state in rows_of(connection, _DatabaseState, _DATABASES)}
        for name, database in tuple(self._followed.items()):
            if name not in databases:
                database.stop()
            if not database.runs:
                del self._followed[name]
        self._visits = {name: visit for name, visit in self._visits.items() if name in databases}
        for name, state in databases.items():
            if state.is_asked and name in self._followed:
                self._followed[name].hurry()
            if name not in self._followed and (state.is_asked or self._is_due(name, state.inserted)):
                self._visit(name, state.inserted)

    def _is_due(self, name: str, inserted: int) -> bool:
        last = self._visits.get(name)
        return last is None or last.inserted != inserted or time.monotonic() - last.at > _VISIT_SECONDS

    def _visit(self, name: str, inserted: int) -> None:
        self._visits[name] = Visit(time.monotonic(), inserted)
        try:
            with connect(self._address(name)) as connection:
                wanted = has_work(connection)
        except psycopg.Error as error:
            log.info("cannot look into database %r: %s", name, error)
            return
        if wanted:
            self._followed[name] = Database(name, self._address(name), self._orders, self._engine)

    def _address(self, name: str) -> str:
        return make_conninfo(self._orders.address, dbname=name)
