"""Which steps of the search for paces tell somebody something who chooses a goal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_LEAST: Final = 0.01
_LEAST_OF_ITSELF: Final = 0.1


def telling_steps(final_works: Sequence[float]) -> list[int]:
    """The places of the steps to show, of final work as shares of the batch's, the largest first.

    The first one, and each that leaves less than the one shown before it by a hundredth of the batch's work,
    or by a tenth of what that one left. What lies between takes ever more work for next to nothing.
    """
    shown: list[int] = []
    for place, final_work in enumerate(final_works):
        before = final_works[shown[-1]] if shown else None
        if before is None or before - final_work >= min(_LEAST, _LEAST_OF_ITSELF * before):
            shown.append(place)
    return shown
