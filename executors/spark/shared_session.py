"""The session of a Java process that we start: for several executors, which work at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable

from pyspark.sql import SparkSession

from executors.spark.session import SparkSettings, close_session, has_driver, open_session


class SharedSession:
    """Opened for whoever needs it first, stopped when nobody needs it any more."""

    def __init__(self, settings: SparkSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._session: SparkSession | None = None
        self._users = 0

    def take(self, go_on: Callable[[], bool]) -> SparkSession:
        """The session; another one where there is none, or where its Java process has ended."""
        with self._lock:
            if self._session is None or not is_open(self._session):
                self._session, self._users = open_session(self._settings, go_on), 0
            self._users += 1
            return self._session

    def give_back(self, session: SparkSession) -> None:
        """Stop the session, unless others use it; one that has ended by itself is nobody's any more."""
        with self._lock:
            if session is not self._session:
                return
            self._users -= 1
            if self._users == 0:
                self._session = None
                close_session(session)


def is_open(session: SparkSession) -> bool:
    """Whether it is the session of this process, and its Java process runs."""
    return SparkSession._instantiatedSession is session and has_driver(seconds=0)
