"""DuckDB with look-ups that are served in ways drawn at random: what is found is the same."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from random import Random
from typing import Final

import duckdb

from executors.duckdb.arrangement import KeyColumn
from executors.duckdb.arrangements import Arrangements, Found, Room
from executors.duckdb.database import open_database
from executors.duckdb.executor import DuckDBExecutor
from executors.duckdb.sorted_run import Hashes
from executors.duckdb.whole_files import WholeFiles
from executors.executor import UNBOUNDED, StateBudget
from executors.settings import IN_PROCESS_MEMORY


class Service(StrEnum):
    """What serves a look-up."""

    ARRANGED = "looked up"
    IN_PART = "looked up in a part"
    SCANNED = "scanned"


SERVICES: Final = tuple(Service)


class DrawnArrangements(Arrangements):
    """Has all of the files arranged, any of them, or none: another draw for each look-up."""

    def __init__(
        self,
        open_database: Callable[[], duckdb.DuckDBPyConnection],
        room: Room,
        random: Random,
        counts: Counter[str],
    ) -> None:
        super().__init__(open_database, room)
        self._random = random
        self._counts = counts

    def find(
        self,
        connection: duckdb.DuckDBPyConnection,
        files: WholeFiles,
        key: tuple[KeyColumn, ...],
        hashes: Hashes,
        states: StateBudget = UNBOUNDED,
    ) -> Found:
        """What was arranged of other files for other look-ups must not be found."""
        service = self._random.choice(SERVICES)
        self._counts[service] += 1
        match service:
            case Service.ARRANGED:
                return super().find(connection, files, key, hashes, states)
            case Service.IN_PART:
                some = {path: rows for path, rows in files.rows.items() if self._random.random() < 0.5}
                found = super().find(connection, replace(files, rows=some), key, hashes, states)
                return replace(found, rest=(*found.rest, *(path for path in files.rows if path not in some)))
            case Service.SCANNED:
                return Found((), tuple(files.rows))


class DrawnDuckDB(DuckDBExecutor):
    """DuckDB that looks up and holds whatever it can, however little it is."""

    def __init__(self, room: Room, random: Random, counts: Counter[str]) -> None:
        super().__init__(math.inf, IN_PROCESS_MEMORY, room, fewest_held_rows=0)
        arrangements = DrawnArrangements(lambda: open_database(IN_PROCESS_MEMORY), room, random, counts)
        self._database = replace(self._opened(), arrangements=arrangements)
