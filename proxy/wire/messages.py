"""The few protocol messages that the proxy itself reads or writes; pure."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Final

from catalog.errors import Error, ProtocolViolation

SSL_REQUEST: Final = 80877103
GSS_REQUEST: Final = 80877104
CANCEL_REQUEST: Final = 80877102

TERMINATE: Final = b"X\x00\x00\x00\x04"


def message(kind: bytes, body: bytes) -> bytes:
    """One message with its header."""
    return kind + struct.pack("!I", len(body) + 4) + body


SIGN_OF_LIFE: Final = message(b"S", b"integer_datetimes\x00on\x00")
"""A parameter that every session was told at its start and that never changes."""


def error_response(error: Error, *, severity: str = "FATAL") -> bytes:
    """ErrorResponse for a condition of ours."""
    fields = [("S", severity), ("V", severity), ("C", error.sqlstate), ("M", error.message)]
    if error.detail:
        fields.append(("D", error.detail))
    if error.hint:
        fields.append(("H", error.hint))
    if error.position is not None:
        fields.append(("P", str(error.position)))
    body = b"".join(f"{key}{value}".encode() + b"\x00" for key, value in fields)
    return message(b"E", body + b"\x00")


def data_row(value: bytes) -> bytes:
    """A row of one column."""
    return message(b"D", struct.pack("!HI", 1, len(value)) + value)


def fields_of(body: bytes) -> dict[str, str]:
    """Fields of an ErrorResponse or NoticeResponse body by their letter; malformed ones are left out."""
    parts = body.split(b"\x00")
    return {chr(part[0]): part[1:].decode("utf-8", "replace") for part in parts if part}


def negotiate_version(version: int, options: Iterable[str]) -> bytes:
    """NegotiateProtocolVersion: the newest version served and the protocol options that are not."""
    names = [option.encode("utf-8", "surrogateescape") for option in options]
    body = struct.pack("!II", version, len(names)) + b"".join(name + b"\x00" for name in names)
    return message(b"v", body)


def parse_negotiate_version(body: bytes) -> tuple[int, tuple[str, ...]]:
    """Version and options of a NegotiateProtocolVersion body."""
    if len(body) < 8:
        raise ProtocolViolation("invalid answer to the protocol version from the upstream server")
    version, _count = struct.unpack_from("!II", body)
    names = body[8:].split(b"\x00")[:-1]
    return version, tuple(name.decode("utf-8", "surrogateescape") for name in names)


def authentication(code: int, rest: bytes = b"") -> bytes:
    """Authentication request of the server's."""
    return message(b"R", struct.pack("!I", code) + rest)


def sasl_mechanisms(names: Iterable[str]) -> bytes:
    """AuthenticationSASL with an offer of mechanisms."""
    return authentication(10, b"".join(name.encode() + b"\x00" for name in names) + b"\x00")


def parse_sasl_initial(body: bytes) -> tuple[str, bytes]:
    """Mechanism and first data of a SASLInitialResponse body."""
    mechanism, zero, rest = body.partition(b"\x00")
    if not zero or len(rest) < 4:
        raise ProtocolViolation("invalid SASL response")
    (size,) = struct.unpack_from("!i", rest)
    data = rest[4:]
    if size != -1 and size != len(data):
        raise ProtocolViolation("invalid SASL response")
    return mechanism.decode("ascii", "replace"), data


def sasl_initial(mechanism: str, data: bytes) -> bytes:
    """SASLInitialResponse."""
    return message(b"p", mechanism.encode() + b"\x00" + struct.pack("!i", len(data)) + data)
