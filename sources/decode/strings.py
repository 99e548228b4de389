"""Values in binary form that are stored as texts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catalog.errors import ProtocolViolation, ValueNotStorable
from catalog.postgres.storage import Padded, StoredColumn
from catalog.postgres.types import BPCHAR, CHAR, JSONB, TIMETZ, UUID
from sources.decode.moments import timetz_texts
from sources.messages.octets import Values

JSONB_VERSION = 1
HEXADECIMAL = np.frombuffer("".join(f"{octet:02x}" for octet in range(256)).encode(), "S2")
# A "char" is one octet; PostgreSQL writes those beyond ASCII in octal.
CHARS = pa.array(["", *map(chr, range(1, 128)), *(f"\\{octet:03o}" for octet in range(128, 256))])


def decode_string(column: StoredColumn, values: Values) -> pa.Array:
    """The text that PostgreSQL would write, a bpchar of some length without its padding."""
    match column.type.oid:
        case oid if oid == UUID:
            return _uuids(values)
        case oid if oid == TIMETZ:
            return pa.array(timetz_texts(values), pa.string())
        case oid if oid == JSONB:
            if (values.lengths < 1).any() or (values.read("u1") != JSONB_VERSION).any():
                raise ProtocolViolation("a jsonb is of another version")
            return strings(column.name, Values(values.octets, values.starts + 1, values.lengths - 1))
        case oid if oid == CHAR:
            return CHARS.take(pa.array(values.numbers("u1")))
        case oid if oid == BPCHAR and column.storage != Padded(None):
            return pc.ascii_rtrim(strings(column.name, values), " ")
        case _:
            return strings(column.name, values)


def strings(column: str, values: Values) -> pa.Array:
    """Texts as they are."""
    try:
        return values.gather().cast(pa.string())
    except pa.ArrowInvalid:
        raise ValueNotStorable(column, "It is not valid UTF-8.") from None


def _uuids(values: Values) -> pa.Array:
    values.require_length(16)
    digits = HEXADECIMAL[values.read("V16").view("u1")].view("u1").reshape(-1, 32)
    texts = np.full((len(values), 36), ord("-"), np.uint8)
    for start, end, shift in ((0, 8, 0), (8, 12, 1), (12, 16, 2), (16, 20, 3), (20, 32, 4)):
        texts[:, start + shift : end + shift] = digits[:, start:end]
    bounds = np.arange(0, 36 * len(values) + 1, 36, dtype=np.int32)
    return pa.StringArray.from_buffers(len(values), pa.py_buffer(bounds), pa.py_buffer(texts))
