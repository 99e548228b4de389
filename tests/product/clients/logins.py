"""Attempts to log in by libpq, with the SQLSTATE of a refusal, which libpq keeps to itself."""

from __future__ import annotations

import re
import select
import tempfile
from dataclasses import dataclass

from psycopg import pq
from psycopg.pq.abc import PGconn

PATIENCE_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an attempt ended: `sqlstate` is empty where the server refused nothing, `text` where nobody did."""

    sqlstate: str
    text: str

    @property
    def accepted(self) -> bool:
        """Whether the session began."""
        return not self.text


def attempt(dsn: str) -> Outcome:
    """Log in and leave again."""
    with tempfile.TemporaryFile("w+") as traced:
        pgconn = pq.PGconn.connect_start(dsn.encode())
        pgconn.trace(traced.fileno())
        accepted = finish_connecting(pgconn)
        text = "" if accepted else pgconn.get_error_message()
        pgconn.untrace()
        pgconn.finish()
        traced.seek(0)
        refusal = re.search(r'ErrorResponse.* C "(\w{5})"', traced.read())
    return Outcome(refusal[1] if refusal else "", re.sub(r".* failed: ", "", text).strip())


def finish_connecting(pgconn: PGconn) -> bool:
    """Wait until libpq is through; whether it is in."""
    while (status := pgconn.connect_poll()) not in (pq.PollingStatus.OK, pq.PollingStatus.FAILED):
        reading = [pgconn.socket] if status == pq.PollingStatus.READING else []
        writing = [pgconn.socket] if status == pq.PollingStatus.WRITING else []
        assert any(select.select(reading, writing, [], PATIENCE_SECONDS)), "the login hangs"
    return status == pq.PollingStatus.OK
