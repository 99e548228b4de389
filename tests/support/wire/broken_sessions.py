"""Differential fuzzing: broken sessions must look the same to PostgreSQL's client and to the proxy's.

What is sent is made of the messages of the scripts under `wire/`, so no statement is dangerous; it runs as a
role without rights, and ends with the client's half of the connection, so that nobody waits for more.
"""

from __future__ import annotations

import functools
import itertools
import random
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tests.support.checkout import ROOT
from tests.support.wire.client_messages import OURS, for_postgres
from tests.support.wire.raw_client import Address, Message, RawClient
from tests.support.wire.script import Script

FOLDER: Final = ROOT / "tests" / "proxy" / "wire"
FOUND: Final = FOLDER / "fuzz"
HANG_SECONDS: Final = 30
TRIES: Final = 5
"""A server that closes with bytes unread resets the connection: the last answers may be lost on the way."""
ROLE: Final = "fuzz"
LEFT_OUT: Final = frozenset(
    (
        "authentication",
        "large",
        "prepared",
        "properties",
        "replication",
        "startup",
        "startup_refused",
        "strings",
    )
)
UNSUITABLE: Final = (
    b"standard_conforming_strings = off",
    b"isolation level",  # settled by the snapshot that statements of ours take, and SHOW does not
    b"pg_terminate_backend",
    b"100000",
)
LONGEST_MESSAGE: Final = 1000
LENGTHS: Final = (0, 1, 3, 4, 5, 8, 10_001, 20_000, 0x3FFFFFFF, 0x7FFFFFFF, -1, -0x80000000)
NUMBERS: Final = (0, 1, 2, 0x7FFF, 0x8000, 0xFFFF)
TYPES: Final = b"QPBEDCSHFXpdcfZRTKN\x00\xff1 "


@dataclass(frozen=True, slots=True)
class Case:
    """What a client sends after its login: messages, broken or not, and where the stream is cut."""

    pieces: tuple[bytes, ...]
    cuts: tuple[int, ...] = ()

    def segments(self, translate: Callable[[bytes], bytes]) -> Iterator[bytes]:
        """The stream in the segments it is sent in."""
        stream = translate(b"".join(self.pieces))
        bounds = (0, *(cut for cut in self.cuts if cut < len(stream)), len(stream))
        return (stream[start:end] for start, end in itertools.pairwise(bounds))


Mutation = Callable[[random.Random, list[bytes]], None]


def place(chance: random.Random, pieces: list[bytes]) -> int:
    """Where something is done to a session, which is never empty."""
    return chance.randrange(len(pieces))


def drop(chance: random.Random, pieces: list[bytes]) -> None:
    if len(pieces) > 1:
        del pieces[place(chance, pieces)]


def duplicate(chance: random.Random, pieces: list[bytes]) -> None:
    at = place(chance, pieces)
    pieces[at:at] = [pieces[at]] * chance.choice((1, 1, 1, 5))


def swap(chance: random.Random, pieces: list[bytes]) -> None:
    first, second = place(chance, pieces), place(chance, pieces)
    pieces[first], pieces[second] = pieces[second], pieces[first]


def cut_short(chance: random.Random, pieces: list[bytes]) -> None:
    at = place(chance, pieces)
    pieces[at] = pieces[at][: chance.randrange(len(pieces[at]) + 1)]


def empty_tail(chance: random.Random, pieces: list[bytes]) -> None:
    """A body cut short with a length that says so."""
    at = place(chance, pieces)
    body = pieces[at][5:]
    pieces[at] = framed(pieces[at][:1], body[: chance.randrange(len(body) + 1)])


def wrong_length(chance: random.Random, pieces: list[bytes]) -> None:
    at = place(chance, pieces)
    right = len(pieces[at]) - 1
    length = chance.choice((right - 1, right + 1, right + 2, chance.choice(LENGTHS)))
    pieces[at] = pieces[at][:1] + struct.pack("!i", length) + pieces[at][5:]


def other_type(chance: random.Random, pieces: list[bytes]) -> None:
    at = place(chance, pieces)
    pieces[at] = bytes((chance.choice(TYPES),)) + pieces[at][1:]


def other_number(chance: random.Random, pieces: list[bytes]) -> None:
    """Two bytes of a body made another number: counts and formats, mostly."""
    at = place(chance, pieces)
    body = bytearray(pieces[at][5:])
    if len(body) >= 2:
        struct.pack_into("!H", body, chance.randrange(len(body) - 1), chance.choice(NUMBERS))
        pieces[at] = framed(pieces[at][:1], bytes(body))


def odd_byte(chance: random.Random, pieces: list[bytes]) -> None:
    """A terminator or a byte that is not UTF-8 in the middle of a body."""
    at = place(chance, pieces)
    body = pieces[at][5:]
    where = chance.randrange(len(body) + 1)
    pieces[at] = framed(pieces[at][:1], body[:where] + chance.choice((b"\0", b"\xff")) + body[where:])


def stranger(chance: random.Random, pieces: list[bytes]) -> None:
    """A message of another session."""
    pieces.insert(place(chance, pieces), chance.choice(chance.choice(sessions())))


def splice(chance: random.Random, pieces: list[bytes]) -> None:
    """The beginning of this session and the end of another."""
    other = chance.choice(sessions())
    pieces[place(chance, pieces) + 1 :] = other[chance.randrange(len(other)) :]


MUTATIONS: Final[tuple[Mutation, ...]] = (
    drop, duplicate, swap, cut_short, empty_tail, wrong_length, other_type, other_number, odd_byte,
    stranger, splice,
)  # fmt: skip


def framed(kind: bytes, body: bytes) -> bytes:
    """A message whose length is right."""
    return kind + struct.pack("!i", len(body) + 4) + body


@functools.cache
def sessions() -> tuple[tuple[bytes, ...], ...]:
    """The messages of each script that suits."""
    paths = [*sorted(FOLDER.glob("*.pt")), *sorted((FOLDER / "ours").glob("*.pt"))]
    found = (tuple(suitable(Script.read(path))) for path in paths if path.stem not in LEFT_OUT)
    return tuple(messages for messages in found if messages)


def suitable(script: Script) -> Iterator[bytes]:
    """A script's short and harmless messages; ours only where no encoding can make them another's."""
    for part in itertools.chain.from_iterable(block.parts for block in script.blocks):
        match part:
            case bytes() if not 5 <= len(part) <= LONGEST_MESSAGE or any(text in part for text in UNSUITABLE):
                continue
            case bytes() if part.isascii() or b"gavial" not in part:
                yield part


def generate(seed: int) -> Case:
    """The case of a seed: a stretch of a session, broken in one to four places."""
    chance = random.Random(seed)
    session = chance.choice(sessions())
    start = chance.randrange(len(session))
    pieces = list(session[start : start + chance.randint(2, 15)])
    for mutate in chance.choices(MUTATIONS, k=chance.randint(1, 4)):
        mutate(chance, pieces)
    size = sum(map(len, pieces))
    cuts = (
        sorted(chance.sample(range(1, size), min(size - 1, chance.choice((0, 0, 1, 3))))) if size > 1 else []
    )
    return Case(tuple(pieces), tuple(cuts))


def outcome(address: Address, case: Case, translate: Callable[[bytes], bytes]) -> tuple[str, ...]:
    """Types of the messages that come back, with SQLSTATEs and transaction states."""
    with RawClient.session(address, statement_timeout="10s", lock_timeout="5s") as client:
        client.socket.settimeout(HANG_SECONDS)
        for segment in case.segments(translate):
            client.send(segment)
        client.end()
        try:
            return tuple(repeated(map(shape, client)))
        except TimeoutError:
            return ("hangs",)


def repeated(shapes: Iterable[str]) -> Iterator[str]:
    """Runs of the same as one, with its length."""
    for shape, group in itertools.groupby(shapes):
        count = sum(1 for _ in group)
        yield shape if count == 1 else f"{shape}*{count}"


def shape(message: Message) -> str:
    """What has to be the same of a message."""
    match message.kind:
        case "E" | "N":
            fields = {field[:1]: field[1:] for field in message.body.split(b"\0")}
            return f"{message.kind} {fields[b'V'].decode()} {fields[b'C'].decode()}"
        case "Z":
            return f"Z {message.body.decode()}"
        case kind:
            return kind


def settled(shapes: tuple[str, ...]) -> tuple[str, ...]:
    """What comes back for certain when a session is cut off: a notice, as ours raise, brings out more."""
    last = max((at for at, shape in enumerate(shapes) if shape[0] in "EZ"), default=-1)
    return shapes[: last + 1]


@dataclass(frozen=True, slots=True)
class Pair:
    """The same server, directly and through the proxy."""

    direct: Address
    proxied: Address

    def difference(self, case: Case) -> str | None:
        """How the two differ; None if they do not, or in nothing but what a broken connection may lose."""
        said = ""
        for _ in range(TRIES):
            direct = outcome(self.direct, case, for_postgres)
            proxied = outcome(self.proxied, case, bytes)
            if OURS.search(b"".join(case.pieces)):
                direct, proxied = settled(direct), settled(proxied)
            if direct == proxied:
                return None
            said = f"directly {' '.join(direct)}; proxied {' '.join(proxied)}"
            common = min(len(direct), len(proxied))
            if direct[:common] != proxied[:common]:
                break
        return said

    def shrunk(self, case: Case) -> Case:
        """A case with fewer pieces and cuts that still makes a difference."""
        smaller = replace(case, cuts=())
        case = smaller if self.difference(smaller) else case
        at = 0
        while at < len(case.pieces):
            smaller = replace(case, pieces=case.pieces[:at] + case.pieces[at + 1 :])
            if smaller.pieces and self.difference(smaller):
                case = smaller
            else:
                at += 1
        return case


def keep(case: Case, seed: int, difference: str) -> Path:
    """Write a case down as a script."""
    segments = [f"Raw({segment!r})" for segment in case.segments(bytes)]
    FOUND.mkdir(exist_ok=True)
    path = FOUND / f"{seed}.pt"
    path.write_text("\n".join([f"# {difference}", "until close", *segments, "EndOfStream()"]) + "\n")
    return path


def kept(path: Path) -> Case:
    """A case that was written down."""
    parts = [part for block in Script.read(path).blocks for part in block.parts if isinstance(part, bytes)]
    return Case(tuple(parts), tuple(itertools.accumulate(map(len, parts)))[:-1])
