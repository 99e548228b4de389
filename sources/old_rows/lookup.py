"""Changes that tell only the key of the old row are completed from the table's mirror, which follows them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from sources.messages.copied_rows import CopiedRows
from sources.messages.counted_messages import Messages
from sources.messages.octets import Positions
from sources.messages.pgoutput import DELETE, UPDATE
from sources.messages.tuples import Tuples, buffer_of, filled, joined, key_of, split, tuples_at
from sources.old_rows.mirror import Mirror, MirrorLost
from sources.tables.versions import Known, Version

GROUP: Final = 1024
"""Messages whose old rows are looked up together."""

BATCH_BYTES: Final = 32 << 20
"""What is complete is handed on whenever it has rows of so many bytes."""

_TOLD, _NEW = b"ON"


class Completed(NamedTuple):
    """Messages, the old rows of those that have one, and the new ones."""

    messages: Messages
    old: CopiedRows
    new: CopiedRows


class Change(NamedTuple):
    """What a message tells of the row before and the one after, which may leave out what did not change."""

    old_key: bytes | None
    old: bytes | None
    new_key: bytes | None
    new: bytes | None
    partial: bool


@dataclass(slots=True, eq=False)
class _Rows:
    """The old and the new rows of messages, one after another."""

    old: list[bytes] = field(default_factory=list)
    new: list[bytes] = field(default_factory=list)
    size: int = 0


class Lookup:
    """Of one table while its rows have the same columns.

    `key` are the places of the columns that tell rows apart. A row that is older than the columns is brought
    into their form by `renewed`, which is given the version that it has. Of a partition, `places` says where
    the columns stand in what it tells, and `prefix` sets its keys apart from those of other partitions: a row
    that moves is another row there.
    """

    def __init__(
        self,
        mirror: Mirror,
        version: Version,
        key: Sequence[int],
        renewed: Callable[[int, bytes], bytes],
        places: Sequence[int] = (),
        prefix: bytes = b"",
    ) -> None:
        self._mirror = mirror
        self._version = version
        self._key = key
        self._renewed = renewed
        self._places = tuple(places or range(len(version.columns)))
        self._sent_key = [self._places[place] for place in key]
        self._prefix = prefix

    def completed(self, messages: Messages) -> Iterator[Completed]:
        """The same changes with whole rows; what they leave is in the mirror as soon as they are taken."""
        messages = messages.behind(self._mirror.position)
        rows, first = _Rows(), 0
        for start in range(0, len(messages), GROUP):
            end = min(start + GROUP, len(messages))
            self._complete(messages.where(slice(start, end)), rows)
            if rows.size >= BATCH_BYTES or end == len(messages):
                yield Completed(messages.where(slice(first, end)), buffer_of(rows.old), buffer_of(rows.new))
                rows, first = _Rows(), end

    def _complete(self, messages: Messages, rows: _Rows) -> None:
        """A group of them, in their order: a key may come more than once."""
        changes = list(self._changes(messages))
        held = self._held([change.old_key for change in changes if change.old_key and not change.old])
        changed: dict[bytes, bytes | None] = {}
        for old_key, old, new_key, new, partial in changes:
            if old_key is not None:
                old = old or (changed[old_key] if old_key in changed else held.get(old_key))
                if old is None:
                    raise MirrorLost("a row that was changed is not there")
                rows.old.append(old)
                rows.size += len(old)
                changed[old_key] = None
                if new is not None and partial:
                    new = filled(new, old)
                    new_key = self._prefix + key_of(new, self._key)
            if new is not None and new_key is not None:
                rows.new.append(new)
                rows.size += len(new)
                changed[new_key] = new
        self._mirror.follow(changed, self._version.number)

    def _changes(self, messages: Messages) -> Iterator[Change]:
        letters = messages.letters()
        tells, has_new = letters != _NEW, messages.kinds != DELETE
        before = self._tuples(messages, messages.tuples[tells])
        starts = messages.tuples.copy()
        starts[tells] = before.ends + 1
        after = self._tuples(messages, starts[has_new])
        whole_rows = (letters[tells] == _TOLD).tolist()
        sent_rows = zip(self._keys(before), self._rows(before), whole_rows, strict=True)
        new = zip(self._keys(after), self._rows(after), after.partial.tolist(), strict=True)
        for kind, first in zip(messages.kinds.tolist(), letters.tolist(), strict=True):
            old_key, old, whole = (None, None, False) if first == _NEW else next(sent_rows)
            new_key, row, partial = (None, None, False) if kind == DELETE else next(new)
            if kind == UPDATE and old_key is None:
                old_key = new_key
            yield Change(old_key, old if whole else None, new_key, row, partial)

    def _tuples(self, messages: Messages, starts: Positions) -> Tuples:
        return tuples_at(messages.octets, starts, len(self._version.columns), self._sent_key)

    def _keys(self, tuples: Tuples) -> list[bytes]:
        return [self._prefix + key for key in tuples.keys] if self._prefix else tuples.keys

    def _rows(self, tuples: Tuples) -> list[bytes]:
        """Each with the columns in the order of the version."""
        rows = tuples.rows()
        if self._places == tuple(range(len(self._places))):
            return rows
        return [joined([fields[place] for place in self._places]) for fields in map(split, rows)]

    def _held(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The rows of these keys, in the form of the columns."""
        number = self._version.number
        return {
            key: row if version == number else self._renewed(version, row)
            for key, version, row in self._mirror.rows(keys)
        }


def renewed(row: bytes, before: Sequence[Known], now: Sequence[Known]) -> bytes:
    """A row that has older columns with those of now: what it is too old for has the value that was added."""
    fields = dict(zip((column.number for column in before), split(row), strict=True))
    return joined([fields.get(column.number) or _added(column.missing) for column in now])


def _added(value: str | None) -> bytes:
    if value is None:
        return b"n"
    text = value.encode()
    return b"t" + len(text).to_bytes(4, "big") + text
