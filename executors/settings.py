"""What engines are told: apart from them, for whoever writes orders and needs none of what engines need."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

IN_PROCESS_ROWS: Final = 2_000_000
IN_PROCESS_MEMORY: Final = 2**30


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Where engines run: a directory for what they leave behind, and what was asked for Spark.

    `in_process_rows` and `in_process_memory` (bytes) bound what a firing in this process may read and use.
    """

    scratch: Path
    spark_master: str | None = None
    spark_remote: str | None = None
    spark_memory: int | None = None
    in_process_rows: int = IN_PROCESS_ROWS
    in_process_memory: int = IN_PROCESS_MEMORY
