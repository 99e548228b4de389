"""TLS between proxy and server is what the sslmode of --upstream says, and nothing less (G21)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import psycopg
import pytest

from tests.product.clients.logins import Outcome, attempt
from tests.support.running.servers import Gavial, Server, TlsFiles, gavial, make_certificate, postgres

pytestmark = pytest.mark.service

OUTSIDE_THE_CERTIFICATE = "127.0.0.2"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> TlsFiles:
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> TlsFiles:
    """Files of an authority that has not signed the server's certificate."""
    return make_certificate(tmp_path_factory.mktemp("tls"), "stranger")


@pytest.fixture(scope="module", params=[15, 18])
def server(request: pytest.FixtureRequest, files: TlsFiles) -> Iterator[Server]:
    settings = {"listen_addresses": f"127.0.0.1,{OUTSIDE_THE_CERTIFICATE}", "log_connections": "on"}
    with postgres(request.param, settings=settings, tls=files) as server:
        yield server


def before(server: Server, **parameters: object) -> AbstractContextManager[Gavial]:
    return gavial("--workers", "1", "--upstream", server.dsn(**parameters))


def encrypted_upstream(proxy: Gavial) -> bool:
    with psycopg.connect(proxy.dsn(sslmode="disable")) as connection:
        row = connection.execute("select ssl from pg_stat_ssl where pid = pg_backend_pid()").fetchone()
        assert row is not None
        return bool(row[0])


@pytest.mark.parametrize("mode", ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"])
def test_mode_decides_whether_the_leg_has_tls(server: Server, files: TlsFiles, mode: str) -> None:
    roots = {"sslrootcert": files.ca} if mode.startswith("verify") else {}
    with before(server, sslmode=mode, **roots) as proxy:
        assert encrypted_upstream(proxy) == (mode not in ("disable", "allow"))


@pytest.mark.parametrize("mode", ["require", "verify-ca"])
def test_name_in_the_certificate_matters_to_verify_full_alone(
    server: Server, files: TlsFiles, mode: str
) -> None:
    with before(server, host=OUTSIDE_THE_CERTIFICATE, sslmode=mode, sslrootcert=files.ca) as proxy:
        assert encrypted_upstream(proxy)


def refused(proxy: Gavial, server: Server) -> Outcome:
    """A login that must be refused, before any session begins on the server."""
    before = server.log.read_text().count("connection authorized")
    outcome = attempt(proxy.dsn(sslmode="disable"))
    assert server.log.read_text().count("connection authorized") == before
    return outcome


def test_certificate_of_another_name_is_refused(server: Server, files: TlsFiles) -> None:
    host, mode = OUTSIDE_THE_CERTIFICATE, "verify-full"
    with before(server, host=host, sslmode=mode, sslrootcert=files.ca) as proxy:
        outcome = refused(proxy, server)
        assert outcome.sqlstate == "08006"
        assert "certificate is not valid for '127.0.0.2'" in outcome.text


@pytest.mark.parametrize("mode", ["require", "verify-ca", "verify-full"])
def test_certificate_of_another_authority_is_refused(server: Server, stranger: TlsFiles, mode: str) -> None:
    with before(server, sslmode=mode, sslrootcert=stranger.ca) as proxy:
        outcome = refused(proxy, server)
        assert outcome.sqlstate == "08006"
        assert "self-signed certificate in certificate chain" in outcome.text


def test_without_roots_of_ones_own_the_systems_are_asked(server: Server) -> None:
    with before(server, sslmode="verify-full") as proxy:
        outcome = refused(proxy, server)
        assert outcome.sqlstate == "08006"
        assert "certificate" in outcome.text


@pytest.mark.parametrize("mode", ["prefer", "require", "verify-full"])
def test_server_without_tls(postgres15: Server, files: TlsFiles, mode: str) -> None:
    with before(postgres15, sslmode=mode, sslrootcert=files.ca) as proxy:
        outcome = attempt(proxy.dsn(sslmode="disable"))
        assert outcome.sqlstate == ("" if mode == "prefer" else "08006")
        assert outcome.accepted == (mode == "prefer")
        assert mode == "prefer" or "does not support TLS" in outcome.text


def test_unreadable_roots_are_said_at_once(server: Server, tmp_path: Path) -> None:
    absent = tmp_path / "absent"
    with (
        pytest.raises(AssertionError, match=f"cannot read the root certificates {absent}"),
        before(server, sslmode="verify-full", sslrootcert=absent),
    ):
        pass
