"""Records, now and then, how much WAL capture makes the server keep, and how far capture is."""

from __future__ import annotations

import logging
import time
from typing import Final

from psycopg import Connection

from catalog.capture.slot import note_retained_wal
from catalog.capture.store import note_capture, require_epoch
from catalog.errors import ObjectNotInState
from sources.stream.slot import SlotStatus, slot_status
from sources.warehouse.site import CaptureSite

log = logging.getLogger(__name__)

SECONDS: Final = 5.0
WARN_SHARES: Final = (0.8, 0.5)


class Watch:
    """Keeps an eye on one slot: how much WAL the server keeps for it, and whether it is lost."""

    def __init__(self, connection: Connection, site: CaptureSite, slot: str, most: int | None) -> None:
        self._connection = connection
        self._site = site
        self._slot = slot
        self._most = most
        self._next = 0.0
        self._warned = 0.0

    def look(self) -> None:
        """Look if it is time to; raises if the slot is lost, or another coordinator has taken over."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + SECONDS
        require_epoch(self._connection, self._site.epoch)
        status = slot_status(self._connection, self._slot, self._most)
        if status.lost:
            raise ObjectNotInState("the replication slot was lost")
        note_retained_wal(self._connection, self._site.epoch, status.retained, status.most)
        self._warn(status)

    def _warn(self, status: SlotStatus) -> None:
        """Log once that the slot's share of the bound is high, and once that it is no longer."""
        share = warned_share(status)
        if share == self._warned:
            return
        self._warned = share
        detail = None
        if share:
            detail = f"the server keeps {status.retained} of at most {status.most} bytes of WAL for capture"
            log.warning("%s", detail)
        note_capture(self._connection, self._site.epoch, "running", detail)


def warned_share(status: SlotStatus) -> float:
    """The highest warning level that the share of the bound has reached; 0 below all."""
    if not status.most:
        return 0.0
    return next((share for share in WARN_SHARES if status.retained >= share * status.most), 0.0)
