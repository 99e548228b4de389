"""Standing queries by their names where PostgreSQL speaks of their hidden views; pure."""

from __future__ import annotations

import re
from typing import Final

from proxy.wire.messages import message

_SCHEMA: Final = b"gavial_views."
_VIEW: Final = re.compile(rb'(?:rule \S+ on )?(?:view )?gavial_views\."(standing query (?:[^"\x00]|"")+)"')
_TEXTS: Final = (b"M", b"D", b"H")
"""The fields that people read: message, DETAIL, HINT."""


def with_query_names(frame: bytes) -> bytes:
    """An ErrorResponse or NoticeResponse that names standing queries and not their hidden views.

    A view is named for its query (`gavial.view_name`), so nothing has to be looked up. In another language
    than English PostgreSQL's word for a view stays before the name.
    """
    if frame.find(_SCHEMA, 5) < 0:
        return frame
    fields = [_named(field) if field[:1] in _TEXTS else field for field in frame[5:].split(b"\x00")]
    return message(frame[:1], b"\x00".join(fields))


def _named(field: bytes) -> bytes:
    return _VIEW.sub(lambda match: match[1].replace(b'""', b'"'), field)
