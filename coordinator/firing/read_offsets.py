"""How far the subplans of a query have read tables, and one another: from its offsets alone."""

from __future__ import annotations

from coordinator.firing.work import PUBLISHED, Offsets, Work


def is_flushed(work: Work, offsets: Offsets) -> bool:
    """Whether no computed rows wait to be read."""
    read = [(subplan.writes, buffer) for subplan in work.plan.subplans for buffer in subplan.reads]
    read.append((PUBLISHED, work.plan.result))
    written = ((subplan, buffer, work.name(buffer)) for subplan, buffer in read)
    return all(
        offsets.get((subplan, name), 0) >= offsets.get((buffer, name), 0) for subplan, buffer, name in written
    )


def read_positions(work: Work, offsets: Offsets) -> dict[str, int]:
    """The position up to which all subplans that read a table have read it, by table."""
    read = [
        (work.name(buffer), offsets.get((subplan.writes, work.name(buffer)), 0))
        for subplan in work.plan.subplans
        for buffer in subplan.reads
        if buffer in work.tables
    ]
    return {name: min(at for other, at in read if other == name) for name, _at in read}


def has_read_behind(work: Work, offsets: Offsets, position: int) -> bool:
    """Whether some subplan has read further than this position."""
    names = {work.name(table) for table in work.tables}
    return any(at > position for (_subplan, name), at in offsets.items() if name in names)


def period_began(work: Work, offsets: Offsets) -> Offsets:
    """The offsets of tables at which the period began."""
    names = {work.name(table) for table in work.tables}
    return {key: at for key, at in offsets.items() if key[0] == PUBLISHED and key[1] in names}
