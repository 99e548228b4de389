"""Where capture works: a database, its warehouse, and the right to write there."""

from __future__ import annotations

from dataclasses import dataclass

from sources.warehouse.warehouse import Warehouse


@dataclass(frozen=True, slots=True)
class Place:
    """A database, and the warehouse of its changes; only who has its latest epoch may write to either."""

    address: str
    epoch: int
    warehouse: Warehouse
