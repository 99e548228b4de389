"""Follows the changes of a database into the warehouse: nothing is lost, nothing comes twice."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

import psycopg
from psycopg import Connection

from catalog.backoff import Backoff
from catalog.capture.store import (
    Attempt,
    commit_capture,
    note_capture,
    note_failure,
    note_unstorable,
    require_epoch,
    source_states,
)
from catalog.errors import Error, Fenced
from catalog.failpoints import failpoint
from catalog.wording import one_line, sentences
from sources.old_rows.mirrors import Mirrors, mirrors_beside
from sources.server.position import Stopped
from sources.server.session import connect
from sources.stream.replication import KEEPALIVE, Stream, keepalive, replication_connection
from sources.stream.sealing import Sealer
from sources.stream.slot import confirmed_position, free_slot, open_slot, require_settings
from sources.stream.transactions import Assembler
from sources.stream.watch import Watch
from sources.warehouse.site import CaptureSite
from sources.warehouse.warehouse import FULL

log = logging.getLogger(__name__)

BATCH_BYTES: Final = 16 << 20
"""This many bytes of messages are sealed without waiting for more."""

LEAST_SECONDS: Final = 0.03
MOST_SECONDS: Final = 1.0
PAUSES: Final = 4
"""A batch waits for further transactions so many times as long as the last one took to seal, within these
bounds: so sealing takes a fifth of a processor at most, and there are fewer small files. It does not wait
where a statement does."""

LOOK_SECONDS: Final = 0.25
FIRST_PAUSE_SECONDS: Final = 0.1
LONGEST_PAUSE_SECONDS: Final = 10.0


class Capture:
    """Capture of one database; everything up to `position` is in the warehouse."""

    def __init__(
        self, site: CaptureSite, slot: str, scratch: Path, allow_unbounded_wal: bool = False
    ) -> None:
        self.position = 0
        self._site = site
        self._slot = slot
        self._scratch = scratch
        self._allow_unbounded_wal = allow_unbounded_wal
        self._backoff = Backoff(FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS)
        self._attempted = time.monotonic()
        self._failed_at: int | None = None

    def run(self, go_on: Callable[[], bool]) -> None:
        """Capture until told otherwise. Failures are noted in gavial.capture, and capture tries again.

        Raises Fenced as soon as another coordinator has taken over.
        """
        while go_on():
            self._attempted = time.monotonic()
            try:
                self._follow(go_on)
            except Fenced:
                raise
            except Stopped:
                return
            except OSError as error:
                if error.errno not in FULL:
                    raise
                self._rest("paused", f"the disk is full: {error}", go_on)
            except Error as error:
                self._rest("failed", sentences(error.message, error.detail, error.hint), go_on)
            except psycopg.Error as error:
                self._rest("failed", one_line(str(error)), go_on)

    def _follow(self, go_on: Callable[[], bool]) -> None:
        """Follow changes as they come; those that were not committed come again the next time."""
        site = self._site
        with connect(site.address, "gavial catalog") as connection:
            connection.execute("SET synchronous_commit = on")
            require_epoch(connection, site.epoch)
            most = require_settings(connection, self._allow_unbounded_wal)
            with replication_connection(site.address) as replication:
                position = open_slot(connection, replication, site, self._slot, go_on)
                shutil.rmtree(self._scratch, ignore_errors=True)
                self._scratch.mkdir(parents=True, mode=0o700)
                free_slot(connection, self._slot)
                if self._failed_at is None:
                    note_capture(connection, site.epoch, "running", None)
                watch = Watch(connection, site, self._slot, most)
                with closing(Mirrors(mirrors_beside(self._scratch))) as mirrors:
                    begin = self._begin(connection, mirrors, position)
                    stream = Stream(replication, self._slot, begin)
                    sealer = Sealer(connection, site, mirrors, position, stream.report)
                    assembler = Assembler(begin, self._scratch)
                    _Follower(
                        capture=self,
                        connection=connection,
                        site=site,
                        stream=stream,
                        assembler=assembler,
                        sealer=sealer,
                        known=position,
                    ).run(go_on, watch)

    def _begin(self, connection: Connection, mirrors: Mirrors, position: int) -> int:
        """The position to begin at so that no mirror misses anything; all of them have what is confirmed."""
        states = source_states(connection, self._site.epoch)
        names = [(oid, source.old_rows) for oid, source in states.items() if source.old_rows is not None]
        followed = mirrors.position(names)
        if followed is None or followed >= position:
            return position
        return min(max(followed, confirmed_position(connection, self._slot)), position)

    def on_progress(self, connection: Connection, position: int) -> None:
        """Note that everything up to the position is in the warehouse; progress ends a failure."""
        if self._failed_at is not None and position > self._failed_at:
            note_capture(connection, self._site.epoch, "running", None)
            self._failed_at = None
            self._backoff = self._backoff.reset()
        self.position = position

    def _rest(self, state: str, detail: str, go_on: Callable[[], bool]) -> None:
        """Note what is wrong, if that is possible, and wait before the next attempt."""
        log.error("capture: %s", detail)
        self._failed_at = self.position
        self._backoff = self._backoff.longer()
        pause = self._backoff.seconds
        attempt = Attempt(time.monotonic() - self._attempted, pause)
        try:
            with connect(self._site.address, "gavial catalog") as connection:
                note_failure(connection, state, detail, attempt, self._site.epoch)
        except psycopg.Error as error:
            log.info("capture: cannot say so in the database: %s", error)
        end = time.monotonic() + pause
        while go_on() and time.monotonic() < end:
            time.sleep(min(pause, LOOK_SECONDS))


class _Follower:
    """Follows the slot's changes over one connection, until that breaks."""

    def __init__(
        self,
        capture: Capture,
        connection: Connection,
        site: CaptureSite,
        stream: Stream,
        assembler: Assembler,
        sealer: Sealer,
        known: int,
    ) -> None:
        self._capture = capture
        self._connection = connection
        self._site = site
        self._stream = stream
        self._assembler = assembler
        self._sealer = sealer
        self._known = known
        self._patience = LEAST_SECONDS
        self._since: float | None = None

    def run(self, go_on: Callable[[], bool], watch: Watch) -> None:
        while go_on():
            for message in self._stream.messages():
                if message[0] == KEEPALIVE:
                    self._keep_alive(message)
                elif self._assembler.receive(message) and self._due():
                    self._drain()
            self._assembler.relieve()
            if self._assembler.between and self._due():
                self._drain()
            watch.look()
            self._stream.report()
            waits = self._since is not None and self._assembler.between
            self._stream.wait(self._remaining() if waits else LOOK_SECONDS)

    def _keep_alive(self, message: bytes) -> None:
        """With nothing pending, confirm without a commit: the changes since concern no captured table."""
        position, wanted = keepalive(message)
        self._assembler.advance(position)
        if not self._assembler.pending:
            self._confirm(self._assembler.position)
        if wanted:
            self._stream.report(now=True)

    def _due(self) -> bool:
        assembler = self._assembler
        if not assembler.pending:
            return False
        if self._since is None:
            self._since = time.monotonic()
        return assembler.asked or assembler.ready_bytes >= BATCH_BYTES or self._remaining() <= 0

    def _remaining(self) -> float:
        assert self._since is not None
        return self._since + self._patience - time.monotonic()

    def _drain(self) -> None:
        """Seal, commit, confirm: in this order, so that a crash in between only repeats work."""
        started = time.monotonic()
        asked = self._assembler.asked
        transactions = self._assembler.take()
        sealed = self._sealer.seal(transactions)
        failpoint("capture: sealed")
        if transactions.position > self._known and (sealed.batches or sealed.emptied or asked):
            commit_capture(
                connection=self._connection,
                epoch=self._site.epoch,
                position=transactions.position,
                time=transactions.time,
                batches=sealed.batches,
                arrivals=sealed.arrivals,
                emptied=sealed.emptied,
            )
            if any(batch.unstorable for batch in sealed.batches):
                note_unstorable(self._connection)
            failpoint("capture: committed")
        self._sealer.keep(transactions.position)
        failpoint("capture: old rows kept")
        self._confirm(transactions.position)
        transactions.discard()
        self._since = None
        self._patience = min(max(PAUSES * (time.monotonic() - started), LEAST_SECONDS), MOST_SECONDS)

    def _confirm(self, position: int) -> None:
        self._stream.confirm(position)
        self._capture.on_progress(self._connection, position)
