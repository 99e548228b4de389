"""The sockets that all workers share: TCP on every loopback address asked for, and a Unix socket."""

from __future__ import annotations

import errno
import os
import socket
import stat
from pathlib import Path
from typing import Final

from catalog.errors import ConfigurationError

_BACKLOG: Final = 1024
_LONGEST_PATH: Final = 107
_SOCKET_MODE: Final = 0o777
"""The mode of PostgreSQL's own socket: passwords decide who logs in, the directory who gets there."""


def listen_tcp(host: str, port: int) -> list[socket.socket]:
    """A listener for each address of the host, all on one port (for port 0 the system's choice)."""
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except socket.gaierror as error:
        raise ConfigurationError(
            f'cannot listen on "{host}": {error.strerror}', hint="Choose another with --host."
        ) from None
    listeners: list[socket.socket] = []
    for family, _type, _protocol, _name, address in dict.fromkeys(addresses):
        chosen = port or (listeners[0].getsockname()[1] if listeners else 0)
        listener = _bound(family, (str(address[0]), chosen))
        if listener is not None:
            listeners.append(listener)
    if not listeners:
        raise ConfigurationError(
            f'cannot listen on "{host}": this machine has none of its addresses',
            hint="Choose another with --host.",
        )
    return listeners


def _bound(family: int, address: tuple[str, int]) -> socket.socket | None:
    """A listening socket; None where the machine does not have the address (IPv6 switched off)."""
    try:
        listener = socket.socket(family, socket.SOCK_STREAM)
    except OSError:
        return None
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    try:
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        if family == socket.AF_INET6 and error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
            return None
        raise ConfigurationError(
            f"cannot listen on {address[0]} port {address[1]}: {error.strerror}",
            hint="Choose another with " + ("--host." if error.errno == errno.EADDRNOTAVAIL else "--port."),
        ) from None
    return listener


def listen_unix(directory: Path, port: int) -> socket.socket:
    """A listener where libpq looks for one; a socket file that nobody answers on any more is replaced."""
    path = str(directory / f".s.PGSQL.{port}")
    if len(os.fsencode(path)) > _LONGEST_PATH:
        raise ConfigurationError(f"the Unix socket's path is too long: {path}", hint="Choose a --socket-dir.")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if os.path.lexists(path) and stat.S_ISSOCK(os.lstat(path).st_mode) and not _answers(path):
            os.unlink(path)
        listener.bind(path)
        os.chmod(path, _SOCKET_MODE)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise ConfigurationError(f"cannot listen on {path}: {error.strerror}") from None
    return listener


def _answers(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        return probe.connect_ex(path) == 0
