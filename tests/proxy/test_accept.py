"""Ways in: both families of addresses, the Unix socket, PROXY protocol; new certificates, few descriptors."""

from __future__ import annotations

import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.support.running.servers import Gavial, Server, TlsFiles, gavial, make_certificate, wait_until

pytestmark = pytest.mark.service

SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> TlsFiles:
    return make_certificate(tmp_path_factory.mktemp("certificate"))


def answer(dsn: str) -> str:
    with psycopg.connect(dsn) as connection:
        row = connection.execute("SELECT 'here'").fetchone()
        assert row is not None
        return str(row[0])


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_an_address_of_either_family_is_listened_on(postgres15: Server, host: str) -> None:
    with gavial("--host", host, upstream=postgres15) as running:
        assert answer(running.dsn(host=host)) == "here"


def test_localhost_is_every_address_of_that_name(gavial15: Gavial) -> None:
    for family, _type, _protocol, _name, address in socket.getaddrinfo("localhost", gavial15.port):
        if family in (socket.AF_INET, socket.AF_INET6):
            assert answer(gavial15.dsn(host=address[0])) == "here"


def test_the_unix_socket_is_where_libpq_looks(postgres15: Server, tmp_path: Path) -> None:
    with gavial("--socket-dir", str(tmp_path), upstream=postgres15) as running:
        assert answer(running.dsn(host=str(tmp_path))) == "here"
        path = tmp_path / f".s.PGSQL.{running.port}"
        assert path.is_socket()
        running.stop()
        assert not path.exists()


def test_application_name_reaches_the_server(gavial15: Gavial) -> None:
    with psycopg.connect(gavial15.dsn(application_name="a report")) as connection:
        row = connection.execute(
            "SELECT application_name FROM pg_stat_activity WHERE pid = pg_backend_pid()"
        ).fetchone()
        assert row == ("a report",)


@pytest.fixture
def behind_a_balancer(postgres15: Server) -> Iterator[Gavial]:
    with gavial("--proxy-protocol", upstream=postgres15) as running:
        yield running


def proxy_header(command: int = 0x21) -> bytes:
    addresses = socket.inet_aton("192.0.2.7") + socket.inet_aton("192.0.2.1") + struct.pack("!HH", 1234, 5433)
    return SIGNATURE + bytes([command, 0x11]) + struct.pack("!H", len(addresses)) + addresses


def first_answer(port: int, sent: bytes) -> bytes:
    """The first byte the server says to what is sent byte by byte; none where it closes in any way."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        try:
            for byte in sent:
                connection.sendall(bytes([byte]))
            return connection.recv(1)
        except (ConnectionResetError, BrokenPipeError):
            return b""


STARTUP = b"\x00\x00\x00\x23\x00\x03\x00\x00user\x00postgres\x00database\x00x\x00\x00"


@pytest.mark.parametrize("command", [0x20, 0x21])
def test_a_proxy_header_comes_before_everything_else(behind_a_balancer: Gavial, command: int) -> None:
    startup = struct.pack("!I", len(STARTUP)) + STARTUP[4:]
    assert first_answer(behind_a_balancer.port, proxy_header(command) + startup) in (b"R", b"E")


@pytest.mark.parametrize("sent", [STARTUP, proxy_header(0x99), b"GET / HTTP/1.1\r\n\r\n"])
def test_without_a_proxy_header_nothing_is_answered(behind_a_balancer: Gavial, sent: bytes) -> None:
    assert first_answer(behind_a_balancer.port, sent) == b""


def test_a_certificate_is_read_again_on_sighup(
    postgres15: Server, certificate: TlsFiles, tmp_path: Path
) -> None:
    cert, key = tmp_path / "server.crt", tmp_path / "server.key"
    shutil.copy(certificate.cert, cert)
    shutil.copy(certificate.key, key)
    with gavial("--tls-cert", str(cert), "--tls-key", str(key), upstream=postgres15) as running:

        def verifies(authority: Path) -> bool:
            try:
                answer(running.dsn(host="localhost", sslmode="verify-full", sslrootcert=str(authority)))
            except psycopg.OperationalError:
                return False
            return True

        assert verifies(certificate.ca)
        (tmp_path / "other").mkdir()
        other = make_certificate(tmp_path / "other")
        shutil.copy(other.key, key)
        shutil.copy(other.cert, cert)
        running.process.send_signal(signal.SIGHUP)
        wait_until(lambda: verifies(other.ca), "the new certificate is not used")
        assert not verifies(certificate.ca)


def test_few_descriptors_mean_few_connections_not_failures(postgres15: Server, tmp_path: Path) -> None:
    data = tmp_path / "data"
    command = [sys.executable, "-m", "gavial", "serve", "--data", str(data), "--port", "0", "--workers", "1"]
    process = subprocess.Popen(
        [*command, "--upstream", postgres15.dsn()],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100)),
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("gavial: ready")
        port = int((data / "url").read_text().rpartition(":")[2].partition("/")[0])
        inside = [psycopg.connect(postgres15.dsn(port=port)) for _ in range(18)]
        with pytest.raises(psycopg.OperationalError, match="too many clients already"):
            psycopg.connect(postgres15.dsn(port=port))
        for connection in inside:
            connection.close()
    finally:
        process.terminate()
        _out, errors = process.communicate(timeout=30)
    assert "18 connections at most: the limit on open files is 100" in errors
    assert "Traceback" not in errors
