"""The mirrors of the tables whose old rows are looked up, while their changes are followed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from sources.old_rows.mirror import Mirror, MirrorLost


def mirrors_beside(scratch: Path) -> Path:
    """The directory of all mirrors of a database; it stays when spilled files are deleted."""
    return scratch.with_name("mirrors")


class Mirrors:
    """The mirrors, opened when they are first needed and committed one after the other."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._open: dict[int, tuple[str, Mirror]] = {}

    def of(self, oid: int, name: str) -> Mirror:
        """The mirror of a table that has this name now."""
        opened, mirror = self._open.get(oid, (None, None))
        if mirror is None or opened != name:
            self.leave(oid)
            mirror = Mirror(self._directory / name)
            self._open[oid] = name, mirror
        return mirror

    def position(self, names: Collection[tuple[int, str]]) -> int | None:
        """The position behind which some mirrors lack changes; None without mirrors."""
        positions = []
        for oid, name in names:
            try:
                positions.append(self.of(oid, name).position)
            except MirrorLost:
                continue
        return min(positions, default=None)

    def commit(self, position: int) -> list[int]:
        """Commit the changes followed up to the position; the tables whose mirror is lost."""
        lost = []
        for oid, (_name, mirror) in list(self._open.items()):
            try:
                mirror.commit(position)
            except MirrorLost:
                self.leave(oid)
                lost.append(oid)
        return lost

    def leave(self, oid: int) -> None:
        """Close the mirror of a table whose rows are no longer looked up."""
        if oid in self._open:
            _name, mirror = self._open.pop(oid)
            mirror.close()

    def leave_all_but(self, names: Mapping[int, str | None]) -> None:
        """Close the mirrors of all tables but these."""
        for oid in [oid for oid, (name, _mirror) in self._open.items() if names.get(oid) != name]:
            self.leave(oid)

    def close(self) -> None:
        """Close all; changes that were not committed are lost."""
        self.leave_all_but({})
