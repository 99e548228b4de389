"""The client's messages as the scripts under `wire/` write them: one function each, bytes out."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from typing import Final

Text = str | bytes


def text(value: Text) -> bytes:
    """UTF-8, unless the script gave the bytes themselves."""
    return value.encode() if isinstance(value, str) else value


def cstring(value: Text) -> bytes:
    """Text with its terminator."""
    return text(value) + b"\0"


def Message(kind: str, body: Text = b"", *, length: int | None = None) -> bytes:
    """Any message, also one whose length does not fit its body."""
    data = text(body)
    return kind.encode("latin-1") + struct.pack("!i", len(data) + 4 if length is None else length) + data


def Raw(data: Text) -> bytes:
    """Bytes outside of any message."""
    return text(data)


def Query(statement: Text) -> bytes:
    """Simple protocol."""
    return Message("Q", cstring(statement))


def Parse(name: Text, statement: Text, *types: int) -> bytes:
    """Prepare a statement; an empty name is the unnamed one."""
    return Message("P", cstring(name) + cstring(statement) + counted("!i", types))


def Bind(
    portal: Text = "",
    statement: Text = "",
    *values: Text | None,
    formats: Sequence[int] = (),
    results: Sequence[int] = (),
) -> bytes:
    """Make a portal of a prepared statement; formats are 0 for text and 1 for binary."""
    names = cstring(portal) + cstring(statement)
    arguments = struct.pack("!h", len(values)) + b"".join(map(field, values))
    return Message("B", names + counted("!h", formats) + arguments + counted("!h", results))


def DescribeStatement(name: Text = "") -> bytes:
    """Ask for a prepared statement's parameters and columns."""
    return Message("D", b"S" + cstring(name))


def DescribePortal(name: Text = "") -> bytes:
    """Ask for a portal's columns."""
    return Message("D", b"P" + cstring(name))


def Execute(portal: Text = "", rows: int = 0) -> bytes:
    """Run a portal, for at most so many rows."""
    return Message("E", cstring(portal) + struct.pack("!i", rows))


def CloseStatement(name: Text) -> bytes:
    """Forget a prepared statement."""
    return Message("C", b"S" + cstring(name))


def ClosePortal(name: Text) -> bytes:
    """Forget a portal."""
    return Message("C", b"P" + cstring(name))


def Sync() -> bytes:
    """End of a batch of the extended protocol."""
    return Message("S")


def Flush() -> bytes:
    """Ask for what has been answered so far."""
    return Message("H")


def FunctionCall(function: int, *values: Text | None, formats: Sequence[int] = (), result: int = 0) -> bytes:
    """Call a function by its object identifier."""
    arguments = struct.pack("!h", len(values)) + b"".join(map(field, values))
    body = struct.pack("!i", function) + counted("!h", formats) + arguments + struct.pack("!h", result)
    return Message("F", body)


def CopyData(data: Text) -> bytes:
    """A piece of COPY data, cut anywhere."""
    return Message("d", data)


def CopyDone() -> bytes:
    """End of COPY data."""
    return Message("c")


def CopyFail(reason: Text) -> bytes:
    """Give up a COPY."""
    return Message("f", cstring(reason))


def Terminate() -> bytes:
    """Goodbye."""
    return Message("X")


def Startup(*pairs: Text, version: tuple[int, int] = (3, 0), terminator: Text = b"\0") -> bytes:
    """A start-up packet: names and values in turn."""
    major, minor = version
    body = struct.pack("!hH", major, minor) + b"".join(map(cstring, pairs)) + text(terminator)
    return Packet(body)


def Packet(body: Text, *, length: int | None = None) -> bytes:
    """A packet without a type, as only the start of a connection has it."""
    data = text(body)
    return struct.pack("!I", len(data) + 4 if length is None else length) + data


def SSLRequest() -> bytes:
    """Ask for TLS."""
    return Packet(struct.pack("!i", 80877103))


def GSSENCRequest() -> bytes:
    """Ask for GSSAPI encryption."""
    return Packet(struct.pack("!i", 80877104))


def CancelRequest(process: int, key: bytes) -> bytes:
    """Ask for the end of another session's statement."""
    return Packet(struct.pack("!ii", 80877102, process) + key)


class EndOfStream:
    """The client says that it will send nothing more, and goes on reading."""


def counted(layout: str, numbers: Sequence[int]) -> bytes:
    """A list of numbers behind its length."""
    return struct.pack("!h", len(numbers)) + b"".join(struct.pack(layout, number) for number in numbers)


def field(value: Text | None) -> bytes:
    """A value behind its length; -1 is NULL."""
    return struct.pack("!i", -1) if value is None else struct.pack("!i", len(text(value))) + text(value)


VOCABULARY: Final = {
    word.__name__: word
    for word in (
        Message, Raw, Query, Parse, Bind, DescribeStatement, DescribePortal, Execute, CloseStatement,
        ClosePortal, Sync, Flush, FunctionCall, CopyData, CopyDone, CopyFail, Terminate, Startup, Packet,
        SSLRequest, GSSENCRequest, CancelRequest, EndOfStream,
    )
}  # fmt: skip


def encode(line: str) -> bytes | EndOfStream:
    """The message that one line of a script stands for: a call of a function of this file."""
    message = eval(line, {"__builtins__": {}}, VOCABULARY)
    assert isinstance(message, bytes | EndOfStream), line
    return message


OURS: Final = re.compile(rb'(?i)("?)gavial\1(?:\s|/\*.*?\*/)*\.(?:\s|/\*.*?\*/)*("?)version\2')


def for_postgres(data: bytes) -> bytes:
    """As many bytes, with a setting of PostgreSQL's own wherever these name the one of ours."""
    return OURS.sub(lambda found: b"server_version".ljust(len(found[0])), data)
