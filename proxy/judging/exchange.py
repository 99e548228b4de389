"""What a worker and the process that judges for it say to each other."""

from __future__ import annotations

import base64
import json
import pickle
import socket
import struct
from dataclasses import dataclass
from typing import Final, TypeAlias

from catalog.errors import Error
from catalog.postgres.signatures import Signatures
from proxy.wire.verdict import Verdict

Key: TypeAlias = tuple[str, str]
"""A database, and the server that it is on."""

Judged: TypeAlias = Verdict | Error | None
"""None: what was asked is no question."""

HEADER: Final = struct.Struct(">Q")
"""The length of the pickled message behind it."""


@dataclass(frozen=True, slots=True)
class Learn:
    """Tells the process the signatures of a database."""

    key: Key
    signatures: Signatures


@dataclass(frozen=True, slots=True)
class Forget:
    """Tells the process to forget all signatures."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A question in the words of the database; the socket for its outcome comes with the message."""

    key: Key
    words: str


Message: TypeAlias = Learn | Forget | Ask


@dataclass(frozen=True, slots=True)
class Head:
    """What of a question the worker itself needs: the number whose lock says yes, and the server.

    `kept`: the query is to be kept, and not only explained.
    """

    ticket: int
    server: str
    kept: bool


def read_head(words: str) -> Head | None:
    """Read the head of the question that `gavial.await_verdict` asks, in base64; None if it is none."""
    try:
        asked = json.loads(base64.b64decode(words))
        return Head(int(asked["ticket"]), str(asked["server"]), bool(asked.get("kept")))
    except (KeyError, TypeError, ValueError):
        return None


def send(line: socket.socket, value: Message | Judged, carried: socket.socket | None = None) -> None:
    """A message over a socket that blocks, and another socket with it."""
    pickled = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    header = HEADER.pack(len(pickled))
    if carried is None:
        line.sendall(header)
    else:
        socket.send_fds(line, [header], [carried.fileno()])
    line.sendall(pickled)


def receive(line: socket.socket) -> tuple[Message, socket.socket | None] | None:
    """The next message, and the socket that came with it; None where no more come."""
    header, descriptors, _flags, _address = socket.recv_fds(line, HEADER.size, 1)
    carried = socket.socket(fileno=descriptors[0]) if descriptors else None
    header += _exactly(line, HEADER.size - len(header))
    if len(header) < HEADER.size:
        return None
    (length,) = HEADER.unpack(header)
    pickled = _exactly(line, length)
    return (pickle.loads(pickled), carried) if len(pickled) == length else None


def _exactly(line: socket.socket, length: int) -> bytes:
    """Read so many bytes, or fewer where the other end was closed."""
    received = bytearray()
    while len(received) < length and (piece := line.recv(length - len(received))):
        received += piece
    return bytes(received)
