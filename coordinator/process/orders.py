"""What the coordinator's process is told."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

from executors.settings import EngineSettings


@dataclass(frozen=True, slots=True)
class Orders:
    """The login (a connection string, password and all), where warehouses lie, and what computes.

    `warehouse` is a directory or URI. What capture puts aside lies in the directory of the engines.
    """

    address: str = field(repr=False)
    warehouse: str
    log_level: str
    engines: EngineSettings
    allow_unbounded_wal: bool = False

    def to_line(self) -> bytes:
        """One line of JSON."""
        return json.dumps({**asdict(self), "engines": self.engines.to_values()}).encode() + b"\n"

    @staticmethod
    def from_line(line: bytes) -> Orders:
        """The value that `to_line` wrote."""
        values = json.loads(line)
        return Orders(**{**values, "engines": EngineSettings.of(values["engines"])})
