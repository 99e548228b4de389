"""How room is made for what is kept between firings: one rule for all that is kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar


class Kept(Protocol):
    """Something that can be given up at any time."""

    @property
    def last_use(self) -> int:
        """The number of the firing that used it last."""

    @property
    def bytes(self) -> int:
        """How much room it takes."""


KeptT = TypeVar("KeptT", bound=Kept)


def given_up(kept: Iterable[KeptT], excess: int, used_before: int) -> Sequence[KeptT] | None:
    """What goes so that so many bytes become free, of what was last used before a firing: the least recently
    used first. None where all of that is not enough; then nothing goes."""
    idle = sorted((one for one in kept if one.last_use < used_before), key=lambda one: one.last_use)
    gone: list[KeptT] = []
    for one in idle:
        if excess <= 0:
            break
        gone.append(one)
        excess -= one.bytes
    return gone if excess <= 0 else None
