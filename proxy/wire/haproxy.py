"""The PROXY protocol, version 2, by which a load balancer tells where a client really comes from; pure."""

from __future__ import annotations

import ipaddress
import struct
from typing import Final

from catalog.errors import ProtocolViolation

PREFIX_SIZE: Final = 16
LONGEST_REST: Final = 4096

_SIGNATURE: Final = b"\r\n\r\n\x00\r\nQUIT\n"
_LOCAL, _PROXY = 0x20, 0x21


def rest_size(prefix: bytes) -> int:
    """How many bytes follow the first sixteen."""
    size = struct.unpack_from("!H", prefix, 14)[0]
    if not prefix.startswith(_SIGNATURE) or prefix[12] not in (_LOCAL, _PROXY) or size > LONGEST_REST:
        raise ProtocolViolation("expected a PROXY protocol version 2 header")
    return int(size)


def source(prefix: bytes, rest: bytes) -> str | None:
    """The client's address, `host:port`; None where the balancer speaks for itself, or of no TCP."""
    if prefix[12] == _LOCAL:
        return None
    match prefix[13]:
        case 0x11 if len(rest) >= 12:
            address, port = ipaddress.IPv4Address(rest[:4]), struct.unpack_from("!H", rest, 8)[0]
            return f"{address}:{port}"
        case 0x21 if len(rest) >= 36:
            address6, port = ipaddress.IPv6Address(rest[:16]), struct.unpack_from("!H", rest, 32)[0]
            return f"[{address6}]:{port}"
        case 0x11 | 0x21:
            raise ProtocolViolation("the PROXY protocol header is too short for its address")
    return None
