"""What engines are told: apart from them, for whoever writes orders and needs none of what engines need."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Where engines run: a directory for what they leave behind, and what was asked for Spark."""

    scratch: Path
    spark_master: str | None = None
    spark_remote: str | None = None
    spark_memory: int | None = None
