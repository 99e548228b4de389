"""The knobs that a search of paces turns: one for each path, for each table, or for the whole plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from planner.pace.paths import Path
from planner.pace.schedule import Paces
from planner.pace.search import Knobs, Settings
from planner.pace.simulation import Pacing, Simulation


def knobs_of(paces: Paces, period: Simulation) -> Knobs:
    """One knob for whatever has a pace of its own under this way of pacing."""
    match paces:
        case Paces.AUTO:
            return path_knobs(period.paths, period.idle)
        case Paces.UNIFORM:
            return whole_knob(period.paths)
        case Paces.LEAF:
            return table_knobs(period.paths, period.idle)
        case _:
            assert_never(paces)


def path_knobs(paths: tuple[Path, ...], idle: frozenset[Path]) -> Knobs:
    """A knob for each path to which rows arrive; no path may be faster than all that feed it."""
    free = [place for place, path in enumerate(paths) if path not in idle]
    feeding = _feeding(paths)

    def paces(settings: Settings) -> Pacing:
        pacing = [1] * len(paths)
        for place, pace in zip(free, settings, strict=True):
            pacing[place] = pace
        return tuple(pacing)

    def allowed(settings: Settings) -> bool:
        return is_fed(feeding, paces(settings))

    return Knobs(tuple(free), paces, allowed, _together(paths, free, feeding))


def table_knobs(paths: tuple[Path, ...], idle: frozenset[Path]) -> Knobs:
    """A knob for each table's path, which all paths above follow."""
    feeding = _feeding(paths)
    free = [place for place, path in enumerate(paths) if path not in idle and not feeding[place]]

    def paces(settings: Settings) -> Pacing:
        pacing = [1] * len(paths)
        for place, pace in zip(free, settings, strict=True):
            pacing[place] = pace
        for place, below in feeding.items():
            if below:
                pacing[place] = max(pacing[fed] for fed in below)
        return tuple(pacing)

    return Knobs(tuple(free), paces, lambda _: True)


def whole_knob(paths: tuple[Path, ...]) -> Knobs:
    """One knob for the pace of all paths."""
    return Knobs((0,), lambda settings: settings * len(paths), lambda _: True)


def is_fed(feeding: Mapping[int, tuple[int, ...]], paces: Pacing) -> bool:
    """Whether no path is run more often than new rows can arrive at it."""
    return all(
        not below or paces[place] <= max(paces[fed] for fed in below) for place, below in feeding.items()
    )


def _together(
    paths: tuple[Path, ...], free: list[int], feeding: Mapping[int, tuple[int, ...]]
) -> tuple[tuple[int, ...], ...]:
    """Sets of knobs to turn together: those of all paths to one node, with and without all below it."""
    groups: dict[tuple[int, ...], None] = {}
    for writes in dict.fromkeys(path.writes for path in paths):
        into = {place for place, path in enumerate(paths) if path.writes == writes}
        all_below = set(into)
        for place in sorted(into, reverse=True):
            all_below |= _under(place, feeding)
        for group in (into, all_below):
            groups[tuple(knob for knob, place in enumerate(free) if place in group)] = None
    return tuple(group for group in groups if len(group) > 1)


def _under(place: int, feeding: Mapping[int, tuple[int, ...]]) -> set[int]:
    return {place}.union(*(_under(fed, feeding) for fed in feeding[place]))


def _feeding(paths: tuple[Path, ...]) -> Mapping[int, tuple[int, ...]]:
    """The places of the paths that write what a path reads, by its place, in order from the tables."""
    return {
        place: tuple(below for below, other in enumerate(paths) if other.writes == path.reads)
        for place, path in enumerate(paths)
    }
