"""Where capture works: a database, its warehouse, and the right to write there."""

from __future__ import annotations

from dataclasses import dataclass

from sources.warehouse.warehouse import Warehouse


@dataclass(frozen=True, slots=True)
class CaptureSite:
    """A database and the warehouse of its changes; the holder of the latest epoch alone may write to them."""

    address: str
    epoch: int
    warehouse: Warehouse
