"""Start-up packets and the negotiation of the protocol version; pure."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from catalog.errors import FeatureNotSupported, InvalidAuthorization, ProtocolViolation
from proxy.wire.messages import negotiate_version

LONGEST_PACKET: Final = 10_004
"""PostgreSQL allows 10,000 bytes behind the length."""
NEWEST: Final = 3 << 16 | 2
"""Newest version whose messages the proxy can walk; a client that asks for more is offered this."""

NONCE: Final = "gavial.nonce"

_FALSE: Final = frozenset(("false", "fals", "fal", "fa", "f", "off", "of", "no", "n", "0"))

NO_PATIENCE: Final = ("gavial.patience", "0")
"""A parameter by which statements that wait for a coordinator wait for none to start."""


@dataclass(frozen=True, slots=True)
class Startup:
    """What a client asked for: version, parameters in their order, protocol options (`_pq_.`) apart."""

    version: int
    parameters: tuple[tuple[str, str], ...]
    options: tuple[str, ...]

    @property
    def user(self) -> str:
        """The role to authenticate."""
        return dict(self.parameters)["user"]

    @property
    def database(self) -> str:
        """The database asked for; the user's name unless said otherwise."""
        return dict(self.parameters).get("database") or self.user

    @property
    def replicating(self) -> bool:
        """Whether a walsender is asked for; its commands are not SQL."""
        value = dict(self.parameters).get("replication")
        return value is not None and value.lower() not in _FALSE


def parse_startup(version: int, body: bytes) -> Startup:
    """Read what follows the version number; refuses what PostgreSQL refuses, in its words."""
    if version >> 16 != 3:
        raise FeatureNotSupported(
            f"unsupported frontend protocol {version >> 16}.{version & 0xFFFF}: "
            f"server supports 3.0 to 3.{NEWEST & 0xFFFF}"
        )
    if not body.endswith(b"\x00"):
        raise ProtocolViolation("invalid startup packet layout: expected terminator as last byte")
    parameters, options = _pairs(body)
    if not dict(parameters).get("user"):
        raise InvalidAuthorization("no PostgreSQL user name specified in startup packet")
    return Startup(version, parameters, options)


def _pairs(body: bytes) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    texts = [text.decode("utf-8", "surrogateescape") for text in body.split(b"\x00")]
    parameters = []
    options = []
    at = 0
    while texts[at]:
        if at + 2 >= len(texts):
            raise ProtocolViolation("invalid startup packet layout: expected terminator as last byte")
        name, value = texts[at], texts[at + 1]
        at += 2
        if name.startswith("_pq_."):
            options.append(name)
        elif name != NONCE:
            parameters.append((name, value))
    if at != len(texts) - 2:
        raise ProtocolViolation("invalid startup packet layout: expected terminator as last byte")
    return tuple(parameters), tuple(options)


def upstream_packet(startup: Startup, nonce: str | None, *, waits: bool = True) -> bytes:
    """The packet for the server: no version or option we could not follow, and the session's nonce.

    `waits`: a coordinator that is not there is about to start.
    """
    added = () if nonce is None else ((NONCE, nonce),) if waits else ((NONCE, nonce), NO_PATIENCE)
    parameters = (*startup.parameters, *added)
    texts = [text for pair in parameters for text in pair]
    body = b"".join(text.encode("utf-8", "surrogateescape") + b"\x00" for text in texts) + b"\x00"
    return struct.pack("!II", len(body) + 8, min(startup.version, NEWEST)) + body


def negotiation(startup: Startup, server: tuple[int, tuple[str, ...]] | None) -> bytes:
    """What the client is told about the version: nothing, the server's answer, or ours."""
    clamped = startup.version > NEWEST or bool(startup.options)
    if server is None and not clamped:
        return b""
    version, refused = server if server is not None else (NEWEST, ())
    return negotiate_version(min(version, NEWEST, startup.version), (*startup.options, *refused))
