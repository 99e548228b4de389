"""Seals complete transactions as batches of the warehouse."""

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

from catalog.capture.batch import Batch
from catalog.capture.captured import set_aside
from catalog.capture.store import Arrived, SourceState, held_epoch, manifest, source_states
from catalog.errors import Error, ObjectNotInState
from catalog.failpoints import failpoint
from sources.messages.pgoutput import Relation
from sources.messages.row_messages import RowMessages
from sources.old_rows.lookup import Lookup, renewed
from sources.old_rows.mirror import MirrorLost, prefix_of
from sources.old_rows.mirrors import Mirrors
from sources.stream.changes import changes_of
from sources.stream.transactions import Emptied, Part, Transactions
from sources.tables.versions import Version, arrangement, version_of, written_columns
from sources.warehouse.merging import together
from sources.warehouse.site import CaptureSite
from sources.warehouse.warehouse import COMMIT_LSN, IS_UPDATE, WEIGHT, table_buffer

log = logging.getLogger(__name__)

GATHERED_BYTES: Final = 32 << 20
_LOST: Final = "the copy of its rows by key was lost; it is copied again"
_ALTERED: Final = "its columns changed; it is copied again"
_OLD_ROW_MISSING: Final = "an update or delete came without its whole old row"
_HINT: Final = "ALTER TABLE ... REPLICA IDENTITY FULL, and RESUME the standing queries that read the table."


class Unfollowed(Exception):
    """A table changed in a way that the stream does not show, so it has to be copied again."""


@dataclass(frozen=True, slots=True)
class DescribedTable:
    """The columns of a table, and their places in the rows of one of its partitions."""

    version: Version
    places: tuple[int, ...]
    wide: tuple[int, ...]


@dataclass(slots=True)
class Sealed:
    """Batches that no manifest names yet, the rows that arrived for each table, and the truncated tables.

    Changes of all partitions of a table with one version of its columns make one batch.
    """

    batches: list[Batch] = field(default_factory=list)
    gathered: defaultdict[tuple[int, int], list[pa.Table]] = field(default_factory=lambda: defaultdict(list))
    arrivals: defaultdict[int, Arrived] = field(default_factory=lambda: defaultdict(Arrived))
    emptied: dict[int, int] = field(default_factory=dict)


class Sealer:
    """Knows what columns the tables have; `after_batch` is called between two batches.

    The warehouse has everything up to `known`; earlier changes may come again for mirrors that lack them.
    """

    def __init__(
        self,
        connection: Connection,
        site: CaptureSite,
        mirrors: Mirrors,
        known: int,
        after_batch: Callable[[], None],
    ) -> None:
        self._connection = connection
        self._site = site
        self._mirrors = mirrors
        self._known = known
        self._after_batch = after_batch
        self._versions: dict[tuple[int, int], tuple[Relation, DescribedTable]] = {}

    def seal(self, transactions: Transactions) -> Sealed:
        """Seal batches, durable on return, removed on an error; what cannot be followed is set aside."""
        # Read after all transactions have come: whoever changes a state later copies at a later position.
        states = source_states(self._connection, self._site.epoch)
        self._mirrors.leave_all_but({oid: source.old_rows for oid, source in states.items()})
        sealed = Sealed()
        try:
            for part in transactions.parts:
                leaf = part.relation.oid if isinstance(part, RowMessages) else part.relation
                for oid in [oid for oid, source in states.items() if leaf in source.leaves]:
                    if not self._seal_part(part, leaf, oid, states[oid], sealed):
                        del states[oid]
            for oid, version in list(sealed.gathered):
                self._write(oid, version, sealed)
        except BaseException:
            self._site.warehouse.remove(batch.file for batch in sealed.batches)
            raise
        return sealed

    def keep(self, position: int) -> None:
        """Commit the mirrors, which now have everything up to the position."""
        for oid in self._mirrors.commit(position):
            self._set_aside(oid, "joining", _LOST)

    def _seal_part(self, part: Part, leaf: int, oid: int, source: SourceState, sealed: Sealed) -> bool:
        """Seal the changes of one relation, for itself or for the table of which it is a partition.

        False if the table is set aside; one whose copy is under way is copied again by itself.
        """
        captured = source.state == "captured"
        if source.state == "stopped":
            return False
        try:
            for table, version in self._changes(part, leaf, oid, source, sealed):
                sealed.gathered[oid, version].append(table)
                size = sum(table.nbytes for table in sealed.gathered[oid, version])
                if leaf == oid or size >= GATHERED_BYTES:
                    self._write(oid, version, sealed)
        except Unfollowed as error:
            if captured:
                self._set_aside(oid, "joining", str(error))
            return not captured
        except MirrorLost:
            self._set_aside(oid, "joining", _LOST)
            return False
        except Error as error:
            self._set_aside(oid, "stopped", ": ".join(filter(None, (error.message, error.detail))))
            return False
        return True

    def _write(self, oid: int, version: int, sealed: Sealed) -> None:
        """Write one batch of the changes gathered for a table in one version of its columns."""
        table = together(sealed.gathered.pop((oid, version)))
        if not table.num_rows:
            return
        lsns = pc.min_max(table.column(COMMIT_LSN))
        start, end = lsns["min"].as_py() - 1, lsns["max"].as_py()
        sealed.batches.append(self._site.warehouse.seal(table_buffer(oid), table, start, end, version))
        sealed.arrivals[oid] += arrived(table)
        failpoint("capture: batch sealed")
        self._after_batch()

    def _changes(
        self, part: Part, leaf: int, oid: int, source: SourceState, sealed: Sealed
    ) -> Iterator[tuple[pa.Table, int]]:
        match part:
            case RowMessages():
                described = self._described(part.relation, oid, source)
                lookup = self._lookup(part.relation, oid, source, described)
                on_missing_old_row = partial(self._on_missing_old_row, oid, source)
                columns = described.version.columns
                for table in changes_of(
                    part, columns, self._known, lookup, on_missing_old_row, described.places
                ):
                    yield table, described.version.number
            case Emptied(lsn=lsn) if leaf != oid:
                # It is unknown which of the rows were in the partition.
                if source.state == "captured" and lsn > self._known:
                    raise Unfollowed("a partition was truncated; it is copied again")
            case Emptied(lsn=lsn):
                if source.state == "captured" and source.old_rows is not None:
                    self._mirrors.of(oid, source.old_rows).empty(lsn)
                # When a copy that is under way ends, it will show what it has seen of this.
                if source.state == "captured" and lsn > self._known:
                    for batch in self._held(oid, source.emptied, sealed):
                        yield taken_back(self._site.warehouse.read(batch), lsn - 1), batch.schema_version
                if lsn > self._known:
                    source.emptied = sealed.emptied[oid] = lsn
            case _:
                assert_never(part)

    def _held(self, oid: int, emptied: int, sealed: Sealed) -> list[Batch]:
        """The batches that make up the content of the table."""
        buffer = table_buffer(oid)
        before = (batch for batch in sealed.batches if batch.buffer == buffer)
        held = (*manifest(self._connection, [buffer]), *before)
        return [batch for batch in held if batch.to_offset >= emptied]

    def _described(self, relation: Relation, oid: int, source: SourceState) -> DescribedTable:
        """A table that is described again may have other columns of the same names."""
        before, described = self._versions.get((oid, relation.oid), (None, None))
        if before is not relation or described is None or described.wide != source.wide:
            described = self._describe(relation, oid, source)
            self._versions[oid, relation.oid] = relation, described
        return described

    def _describe(self, relation: Relation, oid: int, source: SourceState) -> DescribedTable:
        places: tuple[int, ...] | None = tuple(range(len(relation.columns)))
        if oid != relation.oid:
            places = arrangement(self._connection, oid, relation.columns)
        if places is None:
            raise Unfollowed(_ALTERED)
        columns = [relation.columns[place] for place in places]
        version = version_of(self._connection, oid, columns, source.state == "captured")
        if version is None:
            raise Unfollowed(_ALTERED)
        return DescribedTable(version, places, source.wide)

    def _lookup(
        self, relation: Relation, oid: int, source: SourceState, described: DescribedTable
    ) -> Lookup | None:
        """The look-up of old rows that the stream leaves out; None if there is no mirror."""
        if source.state != "captured" or source.old_rows is None:
            return None
        mirror, version = self._mirrors.of(oid, source.old_rows), described.version
        places = {column.number: place for place, column in enumerate(version.columns)}
        key = [places[number] for number in source.key if number in places]
        sent_key = {described.places[place] for place in key}
        if len(key) < len(source.key) or not (relation.whole or sent_key == set(relation.key)):
            raise MirrorLost("changes tell another key")

        def as_now(number: int, row: bytes) -> bytes:
            before = written_columns(self._connection, oid, number)
            return renewed(row, before, written_columns(self._connection, oid, version.number))

        return Lookup(mirror, version, key, as_now, described.places, prefix_of(oid, relation.oid))

    def _on_missing_old_row(self, oid: int, source: SourceState) -> None:
        """Raise, unless the change was made before REPLICA IDENTITY FULL: then the copy has it."""
        if source.state == "captured":
            if source.full_old_rows:
                raise ObjectNotInState(_OLD_ROW_MISSING, hint=_HINT)
            raise MirrorLost(_OLD_ROW_MISSING)
        if source.state == "copying":
            self._set_aside(oid, "joining", _OLD_ROW_MISSING)

    def _set_aside(self, oid: int, state: str, detail: str) -> None:
        self._mirrors.leave(oid)
        log.log(logging.ERROR if state == "stopped" else logging.INFO, "table %d: %s: %s", oid, state, detail)
        with held_epoch(self._connection, self._site.epoch):
            set_aside(self._connection, oid, state, detail)


def arrived(changes: pa.Table) -> Arrived:
    """The number of changed rows, by kind."""
    is_update = changes.column(IS_UPDATE)
    is_delete = pc.and_not(pc.less(changes.column(WEIGHT), 0), is_update)
    updated, deleted = (pc.sum(mask, min_count=0).as_py() for mask in (is_update, is_delete))
    return Arrived(changes.num_rows, updated // 2, deleted)


def taken_back(changes: pa.Table, lsn: int) -> pa.Table:
    """The negated changes, at a later position.

    For a TRUNCATE the position is just before its commit, so that rows inserted after it in the same
    transaction lie behind it.
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
