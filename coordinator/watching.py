"""Which periods are looked at again before their triggers: now and then, where something came."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from psycopg import Connection

from catalog.paces import Period, periods
from catalog.running import Running

_SECONDS: Final = 20.0
_HOUR_SECONDS: Final = 3600.0


@dataclass(frozen=True, slots=True)
class _Look:
    """What had come by then, and whether that was news: what it leads to is seen at the next look."""

    came: Mapping[int, int]
    time: float
    news: bool


class Watching:
    """Asks the catalog now and then, for all queries at once."""

    def __init__(self) -> None:
        self._looks: dict[UUID, _Look] = {}
        self._next = float("-inf")

    def stirred(
        self, connection: Connection, queries: Mapping[UUID, Running]
    ) -> Iterator[tuple[Running, Period]]:
        """The periods to which something came since the last look but one, or not looked at for an hour."""
        now = time.monotonic()
        if not queries or now < self._next:
            return
        self._next = now + _SECONDS
        before, self._looks = self._looks, {}
        for id, period in periods(connection, queries).items():
            look = before.get(id)
            news = look is None or look.came != period.came
            if look is None or news or look.news or now - look.time > _HOUR_SECONDS:
                look = _Look(period.came, now, news)
                yield queries[id], period
            self._looks[id] = look
