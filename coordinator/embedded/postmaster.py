"""A running server: started, awaited, stopped."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from catalog.errors import ConfigurationError
from coordinator.embedded.cluster import Cluster
from coordinator.embedded.leftovers import server_processes
from coordinator.embedded.logs import last_lines
from coordinator.embedded.process import Command, start_as
from coordinator.embedded.settings import command_line

OUTPUT = "start.log"
POLL_SECONDS = 0.02
LOG_SECONDS = 5.0


class Postmaster:
    """The server on one cluster, a child of this process that ends with it."""

    def __init__(self, cluster: Cluster, settings: Mapping[str, str], logs: Path) -> None:
        self.cluster = cluster
        self.logs = logs
        # The kernel ends the server with the thread that forked it: this one lives as long as the object.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="postmaster")
        postgres = cluster.binaries.program("postgres")
        command: Command = [postgres, "-D", cluster.directory, *command_line(settings)]
        self._process: subprocess.Popen[bytes] = self._thread.submit(
            start_as, cluster.account, command, directory=cluster.directory.parent, output=logs / OUTPUT
        ).result()

    @property
    def pid(self) -> int:
        """The process to signal."""
        return self._process.pid

    def poll(self) -> int | None:
        """The exit status, or None while it runs."""
        return self._process.poll()

    def wait_until_ready(self, seconds: float) -> None:
        """Return when it accepts connections; recovery after a crash is waited for."""
        deadline = time.monotonic() + seconds
        while not self._is_ready():
            if (status := self.poll()) is not None:
                self._wait_for_log()
                raise self._failure(f"ended with status {status}")
            if time.monotonic() > deadline:
                raise self._failure(f"is not ready after {seconds:.0f} seconds")
            time.sleep(POLL_SECONDS)

    def _wait_for_log(self) -> None:
        """The process that writes the log ends after the server, when it has written what the server said."""
        deadline = time.monotonic() + LOG_SECONDS
        while server_processes(self.cluster.directory) and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)

    def _failure(self, what: str) -> ConfigurationError:
        directory = self.cluster.directory
        return ConfigurationError(
            f"PostgreSQL in {directory} {what}",
            detail=last_lines(self.logs),
            hint=f"The log is in {self.logs}.",
        )

    def _is_ready(self) -> bool:
        """Whether its lock file, which names our child first and its state last, says that it is ready."""
        try:
            lines = (self.cluster.directory / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        return len(lines) >= 8 and lines[0] == str(self.pid) and lines[7].strip() == "ready"

    def stop(self, seconds: float = 60) -> int:
        """Fast shutdown; immediate after the deadline; returns the exit status."""
        self._process.send_signal(signal.SIGINT)
        try:
            status = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.send_signal(signal.SIGQUIT)
            status = self._process.wait()
        self._thread.shutdown()
        return status

    def kill(self) -> None:
        """SIGKILL: what a crash does; its backends notice by themselves."""
        self._process.kill()
        self._process.wait()
        self._thread.shutdown()
