"""Row messages of a table as they came, in memory or, if there are many, in a file."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from catalog.failpoints import failpoint
from sources.messages.pgoutput import Relation

OVERHEAD: Final = 100
"""The memory that a message takes besides its own bytes."""


VOID: Final = 0
"""The position of messages that a later TRUNCATE in the same transaction has undone."""


@dataclass(frozen=True, slots=True, eq=False)
class Portion:
    """Messages one behind the other, and the length of each."""

    data: bytes
    lengths: npt.NDArray[np.int64]


@dataclass(slots=True, eq=False)
class RowMessages:
    """Row messages of one table, all of the same columns, in order.

    `commits`: pairs of a count from the first message on, and the position at which these were committed, or
    VOID for never. Rows of a streamed transaction name their subtransaction; those of `aborted` do not count.
    """

    relation: Relation
    streamed: bool
    messages: list[bytes] = field(default_factory=list)
    commits: list[tuple[int, int]] = field(default_factory=list)
    aborted: frozenset[int] = frozenset()
    _spilled: list[npt.NDArray[np.int64]] = field(default_factory=list)
    _count: int = 0
    _file: Path | None = None

    def __len__(self) -> int:
        return self._count + len(self.messages)

    def commit(self, lsn: int) -> None:
        """Note the position at which the messages not committed yet were committed."""
        if len(self) > (self.commits[-1][0] if self.commits else 0):
            self.commits.append((len(self), lsn))

    def spill(self, scratch: Path) -> None:
        """Move the messages in memory to a file."""
        portion = _portion(self.messages)
        self._file = self._file or scratch / uuid.uuid4().hex
        with self._file.open("ab") as file:
            file.write(portion.data)
        failpoint("spilled")
        self._spilled.append(portion.lengths)
        self._count += len(self.messages)
        self.messages.clear()

    def portions(self) -> Iterator[Portion]:
        """All messages, a bounded part at a time."""
        if self._file is not None:
            with self._file.open("rb") as file:
                for lengths in self._spilled:
                    yield Portion(file.read(int(lengths.sum())), lengths)
        if self.messages:
            yield _portion(self.messages)

    def discard(self) -> None:
        """Delete the file that messages were moved to."""
        if self._file is not None:
            self._file.unlink(missing_ok=True)


def _portion(messages: list[bytes]) -> Portion:
    return Portion(b"".join(messages), np.fromiter(map(len, messages), np.int64, len(messages)))
