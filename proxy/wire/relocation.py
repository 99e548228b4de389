"""Errors of what stands in the place of ours, as the client would have got them for its own text; pure.

A field that PostgreSQL lets every error carry, the constraint's name, brings a place of the client's text
along (`gavial:17`). An error inside a SELECT comes with the command that PostgreSQL ran (field `q`) and the
position in it (`p`); the comment in front of the SELECT says where that began in the client's text.
"""

from __future__ import annotations

import re
from typing import Final

from catalog.errors import Error
from dialect.statements.rewrite import Edit, original_place
from proxy.wire.messages import message

_PLACE: Final = re.compile(r"gavial:(\d*)")
_ORIGIN: Final = re.compile(r"/\*gavial:(\d+)\*/ ")
_KEPT: Final = (b"S", b"V", b"F", b"L", b"R")
"""Severity, and where in the server's source an error was raised."""
_OPTIONAL: Final = ("D", "H")
_OURS: Final = re.compile(
    r"\b(?:perform|perform_and_wait|refresh|verify|explain|explain_existing|show)\((?:jsonb|regclass)"
)


def relocated(frame: bytes, codec: str, edits: tuple[Edit, ...]) -> bytes:
    """An ErrorResponse or NoticeResponse that speaks of the client's text, not of our inner workings.

    A DETAIL or HINT without a word is left out: PL/pgSQL cannot raise one that may be missing.
    """
    parts = frame[5:].split(b"\x00")
    fields = {chr(part[0]): part[1:].decode(codec, "replace") for part in parts if part}
    changed = _placed(fields) or _found_in_query(fields) or _stripped(fields) or _moved(fields, edits)
    if not changed and all(fields.get(key) != "" for key in _OPTIONAL):
        return frame
    body = b"".join(
        key.encode() + value.encode(codec, "replace") + b"\x00" for key, value in fields.items() if value
    )
    return message(frame[:1], body + b"\x00")


def replaced(frame: bytes, codec: str, sqlstate: str, error: Error | None) -> bytes | None:
    """The error in the place of the server's own, if that has this SQLSTATE and there is one."""
    if error is None or sqlstate.encode() not in frame:
        return None
    parts = [part for part in frame[5:].split(b"\x00") if part]
    if b"C" + sqlstate.encode() not in parts:
        return None
    fields = {"C": error.sqlstate, "M": error.message, "D": error.detail, "H": error.hint}
    if error.position is not None:
        fields["P"] = str(error.position + 1)
    replacing = [f"{key}{value}".encode(codec, "replace") for key, value in fields.items() if value]
    kept = [part for part in parts if part[:1] in _KEPT]
    return message(frame[:1], b"".join(part + b"\x00" for part in kept + replacing) + b"\x00")


def _placed(fields: dict[str, str]) -> bool:
    match = _PLACE.fullmatch(fields.get("n", ""))
    if match is None:
        return False
    fields.pop("W", None)
    del fields["n"]
    if match[1]:
        fields["P"] = str(int(match[1]) + 1)
    return True


def _found_in_query(fields: dict[str, str]) -> bool:
    origin = _ORIGIN.search(fields.get("q", ""))
    if origin is None or not fields.get("p", "").isdigit():
        return False
    inside = int(fields["p"]) - origin.end()
    for inner in ("q", "p", "W"):
        fields.pop(inner, None)
    if inside > 0:
        fields["P"] = str(int(origin[1]) + inside)
    return True


def _stripped(fields: dict[str, str]) -> bool:
    return _OURS.search(fields.get("W", "")) is not None and fields.pop("W") != ""


def _moved(fields: dict[str, str], edits: tuple[Edit, ...]) -> bool:
    place = fields.get("P", "")
    if not edits or not place.isdigit():
        return False
    fields["P"] = str(original_place(int(place) - 1, edits) + 1)
    return True
