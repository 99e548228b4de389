"""PgBouncer in session mode in front of a server: the proxy that Gavial's is compared with."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg

from benchmarks.support.address import Address
from benchmarks.support.programs import FailedProgram, find_program
from coordinator.embedded.account import server_account
from coordinator.embedded.process import start_as
from tests.support.running.servers import TlsFiles, free_port, give, make_home

STARTUP_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Upstream:
    """The server behind it: an address or a socket directory, and the user's SCRAM secret there."""

    host: str
    port: int
    verifier: str
    connections: int


@contextmanager
def pgbouncer(upstream: Upstream, user: Address, tls: TlsFiles | None) -> Iterator[tuple[Address, int]]:
    """Run PgBouncer as the server's account; gives the user's address there, and the process."""
    home = make_home()
    address = replace(user, host="127.0.0.1", port=free_port())
    try:
        give(f'"{user.user}" "{upstream.verifier}"\n'.encode(), home / "users")
        give(_settings(upstream, home, address.port, tls).encode(), home / "settings")
        command: list[str | Path] = [find_program("pgbouncer"), home / "settings"]
        process = start_as(server_account(), command, directory=home, output=home / "log")
        try:
            _await(process, address, home / "log")
            yield address, process.pid
        finally:
            process.kill()
            process.wait()
    finally:
        shutil.rmtree(home)


def version() -> str:
    """As PgBouncer says itself, such as 1.24.1."""
    printed = subprocess.run([find_program("pgbouncer"), "-V"], capture_output=True, text=True, check=True)
    return printed.stdout.split()[1]


def _settings(upstream: Upstream, home: Path, port: int, tls: TlsFiles | None) -> str:
    """As many server connections as clients, no log of each, the rest as PgBouncer has it by default."""
    settings = {
        "listen_addr": "127.0.0.1",
        "listen_port": port,
        "unix_socket_dir": "",
        "pool_mode": "session",
        "auth_type": "scram-sha-256",
        "auth_file": home / "users",
        "default_pool_size": upstream.connections,
        "max_client_conn": upstream.connections,
        "server_tls_sslmode": "disable",
        "log_connections": 0,
        "log_disconnections": 0,
    }
    if tls is not None:
        for name, source in (("client_tls_cert_file", tls.cert), ("client_tls_key_file", tls.key)):
            give(source.read_bytes(), home / source.name)
            settings[name] = home / source.name
        settings["client_tls_sslmode"] = "require"
    lines = [f"{name} = {value}" for name, value in settings.items()]
    return "\n".join(
        ["[databases]", f"* = host={upstream.host} port={upstream.port}", "[pgbouncer]", *lines, ""]
    )


def _await(process: subprocess.Popen[bytes], address: Address, log: Path) -> None:
    """Return when PgBouncer answers a query."""
    deadline = time.monotonic() + STARTUP_SECONDS
    while True:
        try:
            with address.connect() as connection:
                connection.execute("SELECT 1")
                return
        except psycopg.OperationalError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise FailedProgram(f"pgbouncer does not answer: {log.read_text().strip()}") from None
            time.sleep(0.05)
