"""Transactions that are complete become batches of the warehouse."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from psycopg import Connection

from catalog.batch import Batch
from catalog.errors import Error, ObjectNotInState
from catalog.failpoints import failpoint
from catalog.store import Arrived, SourceState, hold_epoch, manifest, source_states
from sources.changes import changes_of
from sources.collected import Rows
from sources.lookup import Lookup, renewed
from sources.mirror import MirrorLost
from sources.mirrors import Mirrors
from sources.pgoutput import Relation
from sources.place import Place
from sources.transactions import Emptied, Part, Ready
from sources.versions import Version, version_of, written_columns
from sources.warehouse import COMMIT_LSN, IS_UPDATE, WEIGHT, table_buffer

log = logging.getLogger(__name__)

_LOST: Final = "the copy of its rows by key was lost; it is copied anew"
_UNTOLD: Final = "an update or delete came without its whole old row"
_HINT: Final = "ALTER TABLE ... REPLICA IDENTITY FULL, and RESUME the standing queries that read the table."
_SET_ASIDE: Final = "UPDATE gavial.sources SET state = %s, detail = %s WHERE relation = %s::oid"


class Unfollowed(Exception):
    """The columns of a table changed in a way that the stream does not tell: it has to be copied anew."""


@dataclass(slots=True)
class Sealed:
    """Batches that no manifest names yet; what came to each table, and which were truncated."""

    batches: list[Batch] = field(default_factory=list)
    arrivals: defaultdict[int, Arrived] = field(default_factory=lambda: defaultdict(Arrived))
    emptied: dict[int, int] = field(default_factory=dict)


class Sealer:
    """Knows what columns the tables have; `breathe` is called between two batches.

    The warehouse has everything up to `known`, which may come again for mirrors that have not.
    """

    def __init__(
        self,
        connection: Connection,
        place: Place,
        mirrors: Mirrors,
        known: int,
        breathe: Callable[[], None],
    ) -> None:
        self._connection = connection
        self._place = place
        self._mirrors = mirrors
        self._known = known
        self._breathe = breathe
        self._versions: dict[int, tuple[Relation, Version]] = {}

    def seal(self, ready: Ready) -> Sealed:
        """Durable when this returns, and gone if it raises; a table that cannot be followed is set aside."""
        # Read after all that is ready has come: who changes a state later copies at a later position.
        states = source_states(self._connection, self._place.epoch)
        self._mirrors.leave_all_but({oid: source.old_rows for oid, source in states.items()})
        sealed = Sealed()
        try:
            for part in ready.parts:
                oid = part.relation.oid if isinstance(part, Rows) else part.relation
                if oid in states and not self._seal_part(part, oid, states[oid], sealed):
                    del states[oid]
        except BaseException:
            self._place.warehouse.remove(batch.file for batch in sealed.batches)
            raise
        return sealed

    def keep(self, position: int) -> None:
        """The mirrors have what is in the warehouse."""
        for oid in self._mirrors.commit(position):
            self._set_aside(oid, "joining", _LOST)

    def _seal_part(self, part: Part, oid: int, source: SourceState, sealed: Sealed) -> bool:
        """False if the table is set aside; one whose copy is under way is copied again by itself."""
        captured = source.state == "captured"
        if source.state == "stopped":
            return False
        try:
            for table, version in self._changes(part, oid, source, sealed):
                if table.num_rows:
                    lsns = pc.min_max(table.column(COMMIT_LSN))
                    start, end = lsns["min"].as_py() - 1, lsns["max"].as_py()
                    batch = self._place.warehouse.seal(table_buffer(oid), table, start, end, version)
                    sealed.batches.append(batch)
                    sealed.arrivals[oid] += arrived(table)
                    failpoint("capture: batch sealed")
                    self._breathe()
        except Unfollowed:
            if captured:
                self._set_aside(oid, "joining", "its columns changed; it is copied anew")
            return not captured
        except MirrorLost:
            self._set_aside(oid, "joining", _LOST)
            return False
        except Error as error:
            self._set_aside(oid, "stopped", ": ".join(filter(None, (error.message, error.detail))))
            return False
        return True

    def _changes(
        self, part: Part, oid: int, source: SourceState, sealed: Sealed
    ) -> Iterator[tuple[pa.Table, int]]:
        match part:
            case Rows():
                version = self._version(part.relation, source.state == "captured")
                lookup = self._lookup(part.relation, source, version)
                untold = partial(self._untold, oid, source)
                for table in changes_of(part, version.columns, self._known, lookup, untold):
                    yield table, version.number
            case Emptied(lsn=lsn):
                if source.state == "captured" and source.old_rows is not None:
                    self._mirrors.of(oid, source.old_rows).empty(lsn)
                # What a copy that is under way has seen of this, its end will tell.
                if source.state == "captured" and lsn > self._known:
                    for batch in self._held(oid, source.emptied, sealed):
                        yield taken_back(self._place.warehouse.read(batch), lsn - 1), batch.schema_version
                if lsn > self._known:
                    source.emptied = sealed.emptied[oid] = lsn
            case _:
                assert_never(part)

    def _held(self, oid: int, emptied: int, sealed: Sealed) -> list[Batch]:
        """The batches that make up the table's content."""
        buffer = table_buffer(oid)
        before = (batch for batch in sealed.batches if batch.buffer == buffer)
        held = (*manifest(self._connection, buffer), *before)
        return [batch for batch in held if batch.to_offset >= emptied]

    def _version(self, relation: Relation, captured: bool) -> Version:
        """A table that is told again may have other columns of the same names."""
        told, version = self._versions.get(relation.oid, (None, None))
        if told is not relation or version is None:
            version = version_of(self._connection, relation.oid, relation.columns, captured)
            if version is None:
                raise Unfollowed
            self._versions[relation.oid] = relation, version
        return version

    def _lookup(self, relation: Relation, source: SourceState, version: Version) -> Lookup | None:
        """By which old rows are found that are not told; None if nobody keeps them."""
        if source.state != "captured" or source.old_rows is None:
            return None
        mirror = self._mirrors.of(relation.oid, source.old_rows)
        places = {column.number: place for place, column in enumerate(version.columns)}
        key = [places[number] for number in source.key if number in places]
        if len(key) < len(source.key) or not (relation.whole or set(key) == set(relation.key)):
            raise MirrorLost("changes tell another key")

        def as_now(number: int, row: bytes) -> bytes:
            before = written_columns(self._connection, relation.oid, number)
            return renewed(row, before, written_columns(self._connection, relation.oid, version.number))

        return Lookup(mirror, version, key, as_now)

    def _untold(self, oid: int, source: SourceState) -> None:
        """What was changed before the table told whole rows, its copy will have."""
        if source.state == "captured":
            if source.told:
                raise ObjectNotInState(_UNTOLD, hint=_HINT)
            raise MirrorLost(_UNTOLD)
        if source.state == "copying":
            self._set_aside(oid, "joining", _UNTOLD)

    def _set_aside(self, oid: int, state: str, detail: str) -> None:
        self._mirrors.leave(oid)
        log.log(logging.ERROR if state == "stopped" else logging.INFO, "table %d: %s: %s", oid, state, detail)
        with self._connection.transaction():
            hold_epoch(self._connection, self._place.epoch)
            self._connection.execute(_SET_ASIDE, (state, detail, oid))


def arrived(changes: pa.Table) -> Arrived:
    """How many rows these changes are, and of which kinds."""
    is_update = changes.column(IS_UPDATE)
    is_delete = pc.and_not(pc.less(changes.column(WEIGHT), 0), is_update)
    updated, deleted = (pc.sum(each, min_count=0).as_py() for each in (is_update, is_delete))
    return Arrived(changes.num_rows, updated // 2, deleted)


def taken_back(changes: pa.Table, lsn: int) -> pa.Table:
    """The opposite of changes, at a later position.

    For a TRUNCATE that is one before its commit, so that what its transaction inserts then lies behind it.
    """
    count = changes.num_rows
    opposite = {
        WEIGHT: pc.negate(changes.column(WEIGHT)),
        COMMIT_LSN: pa.array(np.full(count, lsn)),
        IS_UPDATE: pa.array(np.full(count, False)),
    }
    return pa.table(
        [opposite.get(name, changes.column(name)) for name in changes.column_names], changes.column_names
    )
