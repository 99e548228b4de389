"""What the server is told: what Gavial relies on, and what its owner may change."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

DEFAULTS = {
    "max_connections": "200",
    "max_wal_senders": "20",
    "max_replication_slots": "20",
    "max_slot_wal_keep_size": "4GB",
}


def required(log_directory: Path, socket_directory: Path, port: int) -> dict[str, str]:
    """Given on the command line, where neither postgresql.conf nor ALTER SYSTEM can change it."""
    return {
        "listen_addresses": "127.0.0.1",
        "port": str(port),
        "unix_socket_directories": quoted_directory(socket_directory),
        "unix_socket_permissions": "0700",
        "password_encryption": "scram-sha-256",
        "wal_level": "logical",
        "logging_collector": "on",
        "log_destination": "stderr",
        "log_directory": str(log_directory),
        "log_filename": "postgresql-%Y-%m-%d_%H%M%S.log",
        "log_file_mode": "0600",
        "log_rotation_age": "0",
        "log_rotation_size": "10MB",
    }


def quoted_directory(path: Path) -> str:
    """One element of a list of directories, which may hold commas and spaces."""
    return '"' + str(path).replace('"', '""') + '"'


def configuration_text(values: Mapping[str, str]) -> str:
    """Lines for postgresql.conf."""
    return "".join(f"{name} = '{escaped(value)}'\n" for name, value in values.items())


def escaped(value: str) -> str:
    """The inside of a quoted string in postgresql.conf."""
    return value.replace("\\", "\\\\").replace("'", "''")


def command_line(values: Mapping[str, str]) -> list[str]:
    """Options of postgres."""
    return [option for name, value in values.items() for option in ("-c", f"{name}={value}")]
