"""What a server says that has no process left to send changes is known in every language."""

from __future__ import annotations

import psycopg
import pytest

from catalog.errors import TooManyConnections
from sources.server.senders import refusal_to_connect

REFUSALS = [
    'FATAL:  number of requested standby connections exceeds "max_wal_senders" (currently 10)',
    "FATAL:  die Anzahl angeforderter Standby-Verbindungen überschreitet max_wal_senders (aktuell 10)",
]


@pytest.mark.parametrize("words", REFUSALS)
def test_the_setting_to_raise_is_named(words: str) -> None:
    error = refusal_to_connect(f"connection to server failed: {words}\n")
    assert isinstance(error, TooManyConnections)
    assert error.sqlstate == "53300"
    assert error.message == "max_wal_senders of the server allows no more at once"
    assert error.hint == "Try again, or raise max_wal_senders and restart the server."
    assert error.detail == f"It says: {words.removeprefix('FATAL:  ')}."


def test_other_words_stay_as_they_are() -> None:
    error = refusal_to_connect("FATAL:  sorry, too many clients already")
    assert isinstance(error, psycopg.OperationalError)
    assert str(error) == "FATAL:  sorry, too many clients already"
