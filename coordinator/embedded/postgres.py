"""The PostgreSQL that Gavial runs itself: one object from the first start to the last stop."""

from __future__ import annotations

import logging
import os
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from catalog.errors import ConfigurationError
from coordinator.embedded.binaries import binaries_for
from coordinator.embedded.cluster import DATABASE, USER, Cluster, major_version, make
from coordinator.embedded.home import Home, open_home
from coordinator.embedded.leftovers import clear_leftovers
from coordinator.embedded.lock import lock
from coordinator.embedded.logs import prune_logs
from coordinator.embedded.password import make_password, read_password
from coordinator.embedded.ports import choose_port, is_free
from coordinator.embedded.postmaster import Postmaster
from coordinator.embedded.relocation import within_reach
from coordinator.embedded.settings import DEFAULTS, required
from coordinator.embedded.sockets import make_socket_directory, remove_socket_directory
from coordinator.embedded.system import make_directory

READY_SECONDS = 600.0
PORT_ATTEMPTS = 5

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """How to reach the server: the port is that of the socket and of 127.0.0.1."""

    socket_dir: Path
    port: int
    user: str
    password: str = field(repr=False)
    database: str
    version: str


class EmbeddedPostgres:
    """The server of one data directory; every method blocks, and one thread at a time may call them.

    The server is a child of this process and ends with it, however it ends.
    """

    _home: Home
    _cluster: Cluster
    _sockets: Path
    _port: int
    _postmaster: Postmaster

    def __init__(self, data: Path) -> None:
        self._data = data.absolute()
        self._to_undo = ExitStack()

    def start(self) -> Endpoint:
        """Make the cluster if there is none, clear up after a crash, start, and wait until it answers."""
        try:
            make_data_directory(self._data)
            self._home = open_home(self._data)
            self._to_undo.callback(os.close, lock(self._home.directory))
            clear_leftovers(self._home)
            self._cluster = self._open_cluster()
            password = read_password(self._data)
            self._to_undo.callback(remove_socket_directory, self._home)
            self._port = self._start_on_some_port()
            self._to_undo.callback(lambda: self._postmaster.stop())
        except OSError as error:
            self.stop()
            raise ConfigurationError(f"cannot use the data directory {self._data}: {error}") from error
        except BaseException:
            self.stop()
            raise
        return Endpoint(self._sockets, self._port, USER, password, DATABASE, self._cluster.binaries.version)

    def poll(self) -> int | None:
        """The exit status of a server that has ended, None while it runs."""
        return self._postmaster.poll()

    def restart(self) -> None:
        """Start again at the same address, after a crash as well."""
        self._postmaster.stop()
        clear_leftovers(self._home)
        self._start_on(self._port)

    def stop(self) -> None:
        """Fast shutdown; nothing to do is fine."""
        self._to_undo.close()

    def _open_cluster(self) -> Cluster:
        directory, account = self._home.cluster, self._home.account
        major = major_version(directory)
        cluster = Cluster(directory, within_reach(binaries_for(directory, major), account), account)
        if major is None:
            logger.info("making a database cluster of PostgreSQL %s", cluster.binaries.version)
            make(cluster, make_password(self._data), DEFAULTS)
        return cluster

    def _start_on_some_port(self) -> int:
        for attempt in count(1):
            port = choose_port(self._cluster.directory)
            try:
                self._start_on(port)
            except ConfigurationError:
                if is_free(port) or attempt == PORT_ATTEMPTS:
                    raise
            else:
                break
        return port

    def _start_on(self, port: int) -> None:
        prune_logs(self._home)
        self._sockets = make_socket_directory(self._home)
        settings = required(self._home.logs, self._sockets, port)
        self._postmaster = Postmaster(self._cluster, settings, self._home.logs)
        try:
            self._postmaster.wait_until_ready(READY_SECONDS)
        except BaseException:
            self._postmaster.stop()
            raise
        logger.info("PostgreSQL %s is ready on port %d", self._cluster.binaries.version, port)


def make_data_directory(data: Path) -> None:
    """Private, but root's can be passed through, for the server's account has to."""
    data.parent.mkdir(parents=True, exist_ok=True)
    make_directory(data, 0o711 if os.geteuid() == 0 else 0o700)
