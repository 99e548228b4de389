"""The server's messages as text: one line each, what differs from run to run left out."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import struct
from collections.abc import Callable, Iterable, Iterator

from tests.support.wire.raw_client import Message

LONGEST = 120
FIRST_ASSIGNED_OID = 10000  # from here on they are given out when a cluster is made, or later
VOLATILE_FIELDS = frozenset("FLR")  # file, line and routine of an error
VOLATILE_TEXT = re.compile(r"\b[0-9A-F]{1,8}/[0-9A-F]{1,8}\b|(?<=pg_temp_)\d+|(?<=PID )\d+")
FORMATS = ("text", "binary")


class Body:
    """Reads a message's body from front to end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, count: int) -> bytes:
        """So many bytes."""
        taken = self._data[self._at : self._at + count]
        assert len(taken) == count, self._data
        self._at += count
        return taken

    def number(self, layout: str) -> int:
        """One number of the given layout."""
        found: int = struct.unpack(layout, self.take(struct.calcsize(layout)))[0]
        return found

    def text(self) -> str:
        """Bytes up to a terminator."""
        end = self._data.index(0, self._at)
        return show(self.take(end + 1 - self._at)[:-1])

    def value(self) -> str:
        """A field behind its length."""
        size = self.number("!i")
        return "NULL" if size < 0 else show(self.take(size))

    def rest(self) -> bytes:
        """What is left."""
        return self.take(len(self._data) - self._at)


def show(data: bytes) -> str:
    """Bytes as quoted text; as a digest where they are many."""
    if len(data) > LONGEST:
        return f"<{len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()[:16]}>"
    try:
        decoded = data.decode()
    except UnicodeDecodeError:
        return repr(data)
    quoted = json.dumps(VOLATILE_TEXT.sub("*", decoded), ensure_ascii=False)
    return quoted if decoded.replace("\n", "").isprintable() else repr(data)


def show_oid(oid: int) -> str:
    """An object identifier; only those fixed in the catalogs are the same everywhere."""
    return str(oid) if oid < FIRST_ASSIGNED_OID else "*"


def row_description(body: Body) -> Iterator[str]:
    """Each column's name and type, and what else is not the default."""
    for _ in range(body.number("!h")):
        name, table, number = body.text(), body.number("!I"), body.number("!h")
        oid, size, modifier, binary = (body.number(layout) for layout in ("!I", "!h", "!i", "!h"))
        parts = [f"{name} type {show_oid(oid)} size {size}"]
        parts += [f"modifier {modifier}"] if modifier != -1 else []
        parts += [f"of table {show_oid(table)} column {number}"] if table else []
        parts += ["binary"] if binary else []
        yield " ".join(parts)


def data_row(body: Body) -> Iterator[str]:
    """Each value."""
    return (body.value() for _ in range(body.number("!h")))


def fields(body: Body) -> Iterator[str]:
    """An error's or notice's fields."""
    while code := body.take(1)[0]:
        value = body.text()
        if chr(code) not in VOLATILE_FIELDS:
            yield f"{chr(code)}={value}"


def key_data(body: Body) -> Iterator[str]:
    """Only the length of the key: process and key are different each time."""
    body.take(4)
    yield f"key of {len(body.rest())} bytes"


def notification(body: Body) -> Iterator[str]:
    """Channel and payload, without the sender's process."""
    body.take(4)
    yield body.text()
    yield body.text()


def copy_response(body: Body) -> Iterator[str]:
    """The overall format and that of each column."""
    yield FORMATS[body.number("!b")]
    yield from (FORMATS[body.number("!h")] for _ in range(body.number("!h")))


def negotiation(body: Body) -> Iterator[str]:
    """The newest minor version the server knows, and the options it does not know."""
    yield str(body.number("!i"))
    yield from (body.text() for _ in range(body.number("!i")))


def status(body: Body) -> Iterator[str]:
    """The state of the transaction."""
    yield chr(body.take(1)[0])


def authentication(body: Body) -> Iterator[str]:
    """The request's number."""
    yield str(body.number("!i"))
    yield from (show(rest) for rest in [body.rest()] if rest)


def parameters(body: Body) -> Iterator[str]:
    """The types of a statement's parameters."""
    return (show_oid(body.number("!I")) for _ in range(body.number("!h")))


def setting(body: Body) -> Iterator[str]:
    """Name and value, but for the release of the server."""
    name, value = body.text(), body.text()
    yield name
    yield "*" if name == '"server_version"' else value


def texts(count: int) -> Callable[[Body], Iterator[str]]:
    """So many texts."""
    return lambda body: (body.text() for _ in range(count))


def raw(body: Body) -> Iterator[str]:
    """The bytes themselves."""
    yield show(body.rest())


def one_value(body: Body) -> Iterator[str]:
    """One field."""
    yield body.value()


KINDS: dict[str, tuple[str, Callable[[Body], Iterator[str]]]] = {
    "1": ("ParseComplete", texts(0)),
    "2": ("BindComplete", texts(0)),
    "3": ("CloseComplete", texts(0)),
    "A": ("NotificationResponse", notification),
    "C": ("CommandComplete", texts(1)),
    "D": ("DataRow", data_row),
    "E": ("ErrorResponse", fields),
    "G": ("CopyInResponse", copy_response),
    "H": ("CopyOutResponse", copy_response),
    "I": ("EmptyQueryResponse", texts(0)),
    "K": ("BackendKeyData", key_data),
    "N": ("NoticeResponse", fields),
    "R": ("Authentication", authentication),
    "S": ("ParameterStatus", setting),
    "T": ("RowDescription", row_description),
    "V": ("FunctionCallResponse", one_value),
    "W": ("CopyBothResponse", copy_response),
    "Z": ("ReadyForQuery", status),
    "c": ("CopyDone", texts(0)),
    "d": ("CopyData", raw),
    "n": ("NoData", texts(0)),
    "s": ("PortalSuspended", texts(0)),
    "t": ("ParameterDescription", parameters),
    "v": ("NegotiateProtocolVersion", negotiation),
}
LETTERS = {name: letter for letter, (name, _) in KINDS.items()}


def render(message: Message) -> str:
    """One message as one line."""
    name, read = KINDS[message.kind]
    body = Body(message.body)
    line = f"{name} {', '.join(read(body))}".rstrip()
    assert not body.rest(), message
    return line


def is_keepalive(message: Message) -> bool:
    """Whether this is a walsender's sign of life, which comes when it comes."""
    return message.kind == "d" and message.body[:1] == b"k" and len(message.body) == 18


def render_all(messages: Iterable[Message]) -> list[str]:
    """One line each, a repeated one once with its count; signs of life are left out."""
    lines: list[str] = []
    for line, group in itertools.groupby(map(render, itertools.filterfalse(is_keepalive, messages))):
        count = sum(1 for _ in group)
        lines.append(line if count == 1 else f"{line} * {count}")
    return lines
