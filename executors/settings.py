"""What engines are told: apart from them, for whoever writes orders and needs none of what engines need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

IN_PROCESS_MEMORY: Final = 2**30


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Which engine computes, a directory for what it leaves behind, and what was asked for Spark.

    `in_process_memory` bounds the bytes that a firing in this process may use, `in_process_rows`, if anybody
    gives it, the changed rows that it may read; `memory_budget` the bytes of the rows that are kept to be
    looked up by key, a part of the machine's memory if nobody gives it.
    `spark_memory` counts bytes too. `engine` is one of `executors.engines.ENGINES`.
    """

    scratch: Path
    spark_master: str | None = None
    spark_remote: str | None = None
    spark_memory: int | None = None
    in_process_rows: int | None = None
    in_process_memory: int = IN_PROCESS_MEMORY
    memory_budget: int | None = None
    engine: str = "auto"

    def to_values(self) -> dict[str, Any]:
        """What JSON has of it."""
        return {**asdict(self), "scratch": str(self.scratch)}

    @staticmethod
    def of(values: Mapping[str, Any]) -> EngineSettings:
        """The value of which `to_values` were given."""
        return EngineSettings(**{**values, "scratch": Path(values["scratch"])})
