"""The PostgreSQL that Gavial runs itself: one object from the first start to the last stop."""

from __future__ import annotations

import logging
import os
from contextlib import ExitStack
from dataclasses import dataclass, field
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

    def __init__(self, data: Path) -> None:
        self._data = data.absolute()
        self._to_undo = ExitStack()
        self._postmaster: Postmaster | None = None

    def start(self) -> Endpoint:
        """Make the cluster if there is none, clear up after a crash, start, and wait until it answers."""
        try:
            make_data_directory(self._data)
            self._home = open_home(self._data)
            self._to_undo.callback(os.close, lock(self._home.directory))
            self._to_undo.callback(remove_socket_directory, self._home)
            self._to_undo.callback(self._stop_server)
            clear_leftovers(self._home)
            self._cluster = self._open_cluster()
            return self._start_server()
        except BaseException:
            self.stop()
            raise

    def poll(self) -> int | None:
        """The exit status of a server that ended by itself; None while it runs."""
        return self._postmaster.poll() if self._postmaster else None

    def restart(self) -> Endpoint:
        """Start again, after a crash as well; the address stays unless someone took the port."""
        self._stop_server()
        clear_leftovers(self._home)
        return self._start_server()

    def stop(self) -> None:
        """Fast shutdown; nothing to do is fine."""
        self._to_undo.close()

    def _open_cluster(self) -> Cluster:
        home = self._home
        major = major_version(home.cluster)
        binaries = within_reach(binaries_for(home.cluster, major), home.account)
        cluster = Cluster(home.cluster, binaries, home.account)
        if major is None:
            logger.info("making a database cluster of PostgreSQL %s in %s", binaries.version, home.cluster)
            make(cluster, make_password(self._data), DEFAULTS)
        return cluster

    def _start_server(self) -> Endpoint:
        home, cluster = self._home, self._cluster
        sockets = make_socket_directory(home)
        prune_logs(home)
        port = self._start_on_some_port(sockets)
        logger.info("PostgreSQL %s is ready on port %d", cluster.binaries.version, port)
        return Endpoint(sockets, port, USER, read_password(self._data), DATABASE, cluster.binaries.version)

    def _start_on_some_port(self, sockets: Path) -> int:
        for attempt in range(1, PORT_ATTEMPTS + 1):
            port = choose_port(self._cluster.directory)
            settings = required(self._home.logs, sockets, port)
            self._postmaster = Postmaster(self._cluster, settings, self._home.logs)
            try:
                self._postmaster.wait_until_ready(READY_SECONDS)
            except ConfigurationError:
                self._stop_server()
                if is_free(port) or attempt == PORT_ATTEMPTS:
                    raise
            else:
                return port
        raise AssertionError("unreachable")

    def _stop_server(self) -> None:
        if self._postmaster:
            self._postmaster.stop()
        self._postmaster = None


def make_data_directory(data: Path) -> None:
    """Private, but root's can be passed through, for the server's account has to."""
    data.parent.mkdir(parents=True, exist_ok=True)
    make_directory(data, 0o711 if os.geteuid() == 0 else 0o700)
