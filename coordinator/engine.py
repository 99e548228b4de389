"""The Spark session of this process: made when it is first needed, used by one firing at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from coordinator.orders import Orders
from executors.spark.session import SparkSettings, close_session, open_session


def spark_settings(orders: Orders) -> SparkSettings:
    """Where Spark runs: on this machine unless told otherwise."""
    return SparkSettings(Path(orders.scratch), orders.spark_master or "local[*]", orders.spark_remote)


class Engine:
    """One session for all databases; whoever wants it while it is used waits."""

    def __init__(self, settings: SparkSettings) -> None:
        self._settings = settings
        self._session: SparkSession | None = None
        self._turn = threading.Lock()

    @contextmanager
    def session(self) -> Iterator[SparkSession]:
        """The session, for as long as the block lasts."""
        with self._turn:
            if self._session is None:
                self._session = open_session(self._settings)
            yield self._session

    def stop(self) -> None:
        """End Spark, where it was begun."""
        with self._turn:
            if self._session is not None:
                close_session(self._session)
                self._session = None
