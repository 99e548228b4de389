"""Expected rows as numbers, for many firings at once.

A flow has a column for each firing and five rows. Of a change: rows that are new, rows replaced by another
one of the same key (a retraction and a row), rows that go; of the replaced ones those where an extreme or
the first rows differ; last the replaced ones where one that is replaced again counts once. Of a content: its
rows, nothing, nothing, the rows whose extremes differ, and last how many rows it stands for where it was cut
down to what some change meets.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = NDArray[np.float64]
Flow: TypeAlias = NDArray[np.float64]

INSERTS: Final = 0
UPDATES: Final = 1
DELETES: Final = 2
MOVED: Final = 3
BASIS: Final = 4
ROWS: Final = 5
"""How many rows a flow has."""

_MORE_THAN_ONE: Final = 1.0 + 1e-9
_GROSS: Final[Vector] = np.array([1.0, 2.0, 1.0, 0.0, 0.0])


def content(rows: Vector) -> Flow:
    """The flow of a content of so many rows."""
    flow = np.zeros((ROWS, len(rows)))
    flow[INSERTS] = flow[BASIS] = rows
    return flow


def gross(flow: Flow) -> Vector:
    """Rows with a weight, of either sign; a replaced one counts twice."""
    counted: Vector = _GROSS @ flow
    return counted


def net(flow: Flow) -> Vector:
    """The number of rows by which a content grows."""
    grown: Vector = flow[INSERTS] - flow[DELETES]
    return grown


def different(domain: float | Vector, rows: Vector) -> Vector:
    """How many different values so many rows have, drawn from a domain of this size."""
    several = np.maximum(domain, _MORE_THAN_ONE)
    expected: Vector = np.minimum(-several * np.expm1(rows * np.log1p(-1.0 / several)), domain)
    return expected


def reached(share: float, rows: Vector) -> Vector:
    """The probability that a row has a partner among so many, each being one with this share."""
    if share >= 1.0:
        return np.minimum(rows, 1.0)
    shares: Vector = -np.expm1(rows * np.log1p(-share))
    return shares


def paired(flow: Flow) -> Flow:
    """What comes and what goes, as rows that are replaced as far as both are there."""
    both = np.minimum(flow[INSERTS], flow[DELETES])
    flow[INSERTS] -= both
    flow[DELETES] -= both
    flow[UPDATES] += both
    np.minimum(flow[MOVED], flow[UPDATES], out=flow[MOVED])
    flow[BASIS] = flow[UPDATES]
    return flow


def reconciled(flow: Flow, before: Vector, after: Vector) -> Flow:
    """The change such that it leads from the one size of the content to the other."""
    gap = after - before - net(flow)
    missing, excess = np.maximum(gap, 0.0), np.maximum(-gap, 0.0)
    updates = flow[UPDATES]
    turned, gone = np.minimum(updates, missing), np.minimum(updates, excess)
    fewer = np.minimum(flow[INSERTS], excess - gone)
    result = flow.copy()
    result[UPDATES] -= turned + gone
    result[INSERTS] += missing - fewer
    result[DELETES] += excess - fewer
    np.minimum(result[MOVED], result[UPDATES], out=result[MOVED])
    np.minimum(result[BASIS], result[UPDATES], out=result[BASIS])
    return result
