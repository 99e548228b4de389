"""Pauses between attempts."""

from __future__ import annotations

from catalog.backoff import Backoff

PAUSES = Backoff(1.0, 10.0)


def test_each_pause_is_twice_as_long_up_to_a_limit() -> None:
    pauses, seconds = PAUSES, []
    for _ in range(6):
        pauses = pauses.longer()
        seconds.append(pauses.seconds)
    assert seconds == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]


def test_what_went_well_begins_anew() -> None:
    long = PAUSES.longer().longer().longer()
    assert long.reset() == PAUSES
    assert long.after(lasted=61, steady=60).seconds == 1.0
    assert long.after(lasted=59, steady=60).seconds == 8.0
