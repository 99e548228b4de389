"""What the coordinator's process is told."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from executors.settings import IN_PROCESS_MEMORY, IN_PROCESS_ROWS, EngineSettings


@dataclass(frozen=True, slots=True)
class Orders:
    """The login (a connection string, password and all), where warehouses lie, and where Spark runs.

    `warehouse` is a directory or URI, `scratch` a directory for what Spark leaves behind and what capture
    puts aside; `spark_memory` counts bytes. `engine` is one of `executors.engines.ENGINES`.
    """

    address: str = field(repr=False)
    warehouse: str
    log_level: str
    scratch: str
    spark_master: str | None = None
    spark_remote: str | None = None
    spark_memory: int | None = None
    allow_unbounded_wal: bool = False
    engine: str = "auto"
    in_process_rows: int = IN_PROCESS_ROWS
    in_process_memory: int = IN_PROCESS_MEMORY

    @property
    def engine_settings(self) -> EngineSettings:
        """What engines have to know."""
        return EngineSettings(
            Path(self.scratch),
            self.spark_master,
            self.spark_remote,
            self.spark_memory,
            self.in_process_rows,
            self.in_process_memory,
        )

    def to_line(self) -> bytes:
        """One line of JSON."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @staticmethod
    def from_line(line: bytes) -> Orders:
        """The value that `to_line` wrote."""
        return Orders(**json.loads(line))
