"""Spark as an engine whose session is open already."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from executors.spark.executor import SparkEngine, SparkExecutor
from executors.spark.session import SparkSettings


class OpenedSpark(SparkEngine):
    """Spark, of which a session is open."""

    def __init__(self, session: SparkSession) -> None:
        super().__init__(SparkSettings(Path()))
        self.session = session

    def start(self, _go_on: Callable[[], bool]) -> SparkExecutor:
        """An executor in that session."""
        return SparkExecutor(self.session)
