"""NULLs among decoded values."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sources.messages.octets import Mask


def spread(array: pa.Array, present: Mask) -> pa.Array:
    """The values at the places where `present` holds, NULL at the others."""
    if present.all():
        return array
    places = np.cumsum(present) - 1
    return array.take(pa.array(places, mask=~present))
