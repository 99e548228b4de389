"""The authentication matrix, cell by cell: client leg, upstream leg, method, channel binding (G21)."""

from __future__ import annotations

import asyncio
import ipaddress
import itertools
import os
import pwd
import ssl
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import psycopg
import pytest
from psycopg import sql

from tests.product.clients.logins import Outcome, attempt
from tests.product.clients.programs import compiled, printed_by_java, printed_by_node
from tests.support.running.servers import Gavial, Server, TlsFiles, gavial, make_certificate, postgres
from tests.support.wire.raw_client import RawClient, startup

pytestmark = pytest.mark.service

CLIENT_LEGS = ("plain", "tls")
UPSTREAM_LEGS = ("unix", "plain", "tls")
METHODS = ("scram-sha-256", "md5", "password", "trust", "reject", "cert")
BINDINGS = ("disable", "prefer", "require")
UPSTREAM_TLS = {"plain": {"sslmode": "disable"}, "tls": {"sslmode": "require"}}
PASSWORD = "päss wörd'%1"


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination."""

    client: str
    upstream: str
    method: str
    binding: str

    @property
    def role(self) -> str:
        """The role whom pg_hba.conf asks by this method."""
        return f"by_{self.method.replace('-', '_')}"


def access_rules(major: int) -> str:
    """Rules by which a role is asked as its name says; GSSAPI only where it is built in."""
    lines = ["host all by_gss all gss"] if major == 15 else []
    for method in METHODS:
        role = Cell("", "", method, "").role
        kinds = ("hostssl",) if method == "cert" else ("local", "host")
        lines += [f"{kind} all {role} {'' if kind == 'local' else 'all'} {method}" for kind in kinds]
        lines += [
            f"{kind} all {role} {'' if kind == 'local' else 'all'} reject" for kind in ("local", "host")
        ]
    lines += [f'local all "{operating_system_user()}" peer']
    lines += ["local all all scram-sha-256", "host all all all scram-sha-256"]
    return "\n".join(lines) + "\n"


def operating_system_user() -> str:
    return pwd.getpwuid(os.geteuid()).pw_name


class World:
    """A server with TLS and one role for each method, and proxies in front of it, started when asked for."""

    def __init__(self, server: Server, files: TlsFiles, stack: ExitStack) -> None:
        self.server = server
        self.files = files
        self._stack = stack
        self._proxies: dict[tuple[str, ...], Gavial] = {}

    def proxy(self, upstream: str, *options: str, login: str = "gavial_login") -> Gavial:
        """Gavial with TLS, reaching the server in this way and with this login."""
        key = (upstream, login, *options)
        if key not in self._proxies:
            where = {"host": str(self.server.socket_dir)} if upstream == "unix" else UPSTREAM_TLS[upstream]
            dsn = self.server.dsn(user=login, password=PASSWORD, **where)
            certificate = ("--tls-cert", str(self.files.cert), "--tls-key", str(self.files.key))
            started = gavial("--upstream", dsn, "--workers", "1", *certificate, *options)
            self._proxies[key] = self._stack.enter_context(started)
        return self._proxies[key]


def login(place: Gavial | Server, cell: Cell, role: str | None = None, password: str = PASSWORD) -> Outcome:
    mode = "disable" if cell.client == "plain" else "require"
    dsn = place.dsn(user=role or cell.role, password=password, sslmode=mode, channel_binding=cell.binding)
    return attempt(dsn)


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("classes"))


@pytest.fixture(scope="module", params=[15, 18])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    files = make_certificate(tmp_path_factory.mktemp("tls"))
    with postgres(request.param, hba=access_rules(request.param), tls=files) as server, ExitStack() as stack:
        with psycopg.connect(server.dsn(), autocommit=True) as connection:
            make_roles(connection)
        install = ("install", "--upstream", server.dsn(), "--allow-verifier", "gavial_login")
        subprocess.run([sys.executable, "-m", "gavial", *install], check=True)
        yield World(server, files, stack)


def make_roles(connection: psycopg.Connection) -> None:
    roles = [Cell("", "", method, "").role for method in METHODS]
    roles += ["gavial_login", "other_login", operating_system_user(), "expired", "changing"]
    for role in roles:
        connection.execute(f"set password_encryption = '{'md5' if role == 'by_md5' else 'scram-sha-256'}'")
        statement = sql.SQL("create role {} login password {}")
        connection.execute(statement.format(sql.Identifier(role), sql.Literal(PASSWORD)))
    connection.execute("alter role expired valid until '2001-01-01'")
    connection.execute("create role without_password login")
    connection.execute(sql.SQL("create role without_login password {}").format(sql.Literal(PASSWORD)))


def refusal(cell: Cell) -> tuple[str, str]:
    """SQLSTATE and words that end the attempt in this cell; both empty where the client gets in."""
    match cell:
        case Cell(method="trust"):
            return "28000", "--allow-trust"
        case Cell(method="cert", upstream="tls"):
            return "28000", "requires a valid client certificate"
        case Cell(method="reject" | "cert"):
            return "28000", "pg_hba.conf rejects connection"
        case Cell(binding="require"):
            return "", "channel binding"
        case _:
            return "", ""


CELLS = [
    Cell(*combination) for combination in itertools.product(CLIENT_LEGS, UPSTREAM_LEGS, METHODS, BINDINGS)
]
ENTERED = [cell for cell in CELLS if refusal(cell) == ("", "")]


def name(cell: Cell) -> str:
    return f"{cell.client}-{cell.upstream}-{cell.method}-{cell.binding}"


@pytest.mark.parametrize("cell", CELLS, ids=name)
def test_cell(world: World, cell: Cell) -> None:
    outcome = login(world.proxy(cell.upstream), cell)
    sqlstate, words = refusal(cell)
    assert outcome.sqlstate == sqlstate
    assert words in outcome.text
    assert outcome.accepted == (not words)


@pytest.mark.parametrize("cell", ENTERED, ids=name)
def test_wrong_password_is_refused_as_by_the_server(world: World, cell: Cell) -> None:
    through = login(world.proxy(cell.upstream), cell, password="wrong")
    assert through == login(world.server, cell, password="wrong")
    assert through == Outcome("28P01", f'FATAL:  password authentication failed for user "{cell.role}"')


@pytest.mark.parametrize("role", ["nobody_at_all", "without_password", "expired"])
@pytest.mark.parametrize("cell", [cell for cell in ENTERED if cell.method == "scram-sha-256"], ids=name)
def test_role_without_a_valid_password_is_refused_as_by_the_server(
    world: World, cell: Cell, role: str
) -> None:
    through = login(world.proxy(cell.upstream), cell, role=role)
    assert through == login(world.server, cell, role=role)
    assert through == Outcome("28P01", f'FATAL:  password authentication failed for user "{role}"')


@pytest.mark.parametrize("upstream", UPSTREAM_LEGS)
@pytest.mark.parametrize("client", CLIENT_LEGS)
def test_changed_password_holds_at_once(world: World, client: str, upstream: str) -> None:
    cell = Cell(client, upstream, "scram-sha-256", "prefer")
    proxy = world.proxy(upstream)
    with psycopg.connect(world.server.dsn(), autocommit=True) as connection:
        for password in ("first", "second"):
            connection.execute(sql.SQL("alter role changing password {}").format(password))
            assert login(proxy, cell, "changing", password).accepted
        assert login(proxy, cell, "changing", "first").sqlstate == "28P01"


@pytest.mark.parametrize("client", CLIENT_LEGS)
def test_trust_needs_a_word_of_the_operators(world: World, client: str) -> None:
    for upstream, binding in itertools.product(UPSTREAM_LEGS, BINDINGS):
        outcome = login(world.proxy(upstream, "--allow-trust"), Cell(client, upstream, "trust", binding))
        assert outcome.accepted == (binding != "require")
        assert outcome.sqlstate == ""


def test_peer_would_take_every_client_for_the_proxy(world: World) -> None:
    cell = Cell("plain", "unix", "peer", "disable")
    outcome = login(world.proxy("unix"), cell, role=operating_system_user())
    assert outcome.sqlstate == "28000"
    assert "--allow-trust" in outcome.text


def test_channel_binding_is_named_where_verifiers_cannot_be_looked_up(world: World) -> None:
    proxy = world.proxy("tls", login="other_login")
    outcome = login(proxy, Cell("tls", "tls", "scram-sha-256", "prefer"))
    assert outcome.sqlstate == "28000"
    for words in ("channel binding", "channel_binding=disable", "gavial.verifier"):
        assert words in outcome.text
    assert login(proxy, Cell("tls", "tls", "scram-sha-256", "disable")).accepted
    assert login(proxy, Cell("plain", "tls", "scram-sha-256", "prefer")).accepted
    assert "channel binding" in login(proxy, Cell("tls", "tls", "scram-sha-256", "require")).text


def test_refusals_say_what_to_do(world: World) -> None:
    assert "HINT:  Certificate authentication cannot pass through gavial" in (
        login(world.proxy("tls"), Cell("tls", "tls", "cert", "prefer")).text
    )


def test_session_whose_proof_the_proxy_checked_is_an_ordinary_one(world: World) -> None:
    proxy = world.proxy("tls")
    dsn = proxy.dsn(user="by_scram_sha_256", password=PASSWORD, sslmode="require")
    with psycopg.connect(dsn) as connection:
        query = "select current_user, ssl from pg_stat_ssl where pid = pg_backend_pid()"
        assert connection.execute(query).fetchone() == ("by_scram_sha_256", True)


def test_upstream_login_need_not_be_a_superuser(world: World) -> None:
    dsn = world.proxy("plain").dsn(user="by_md5", password=PASSWORD, sslmode="disable")
    with psycopg.connect(dsn) as connection:
        assert connection.execute("show gavial.version").fetchone() is not None


@pytest.mark.parametrize("upstream", UPSTREAM_LEGS)
@pytest.mark.parametrize("client", CLIENT_LEGS)
def test_role_that_may_not_log_in_is_refused(world: World, client: str, upstream: str) -> None:
    cell = Cell(client, upstream, "scram-sha-256", "prefer")
    outcome = login(world.proxy(upstream), cell, role="without_login")
    assert outcome.sqlstate == "28000"


@pytest.mark.parametrize("world", [15], indirect=True)
@pytest.mark.parametrize("client", CLIENT_LEGS)
def test_gss_is_refused_by_name(world: World, client: str) -> None:
    for upstream in ("plain", "tls"):
        outcome = login(world.proxy(upstream), Cell(client, upstream, "gss", "prefer"))
        assert outcome.sqlstate == "0A000"
        assert "GSSAPI" in outcome.text


def test_clear_text_password_is_not_asked_for_in_the_open(world: World) -> None:
    """A balancer tells that the client is on another machine; only the way to the server has TLS."""
    proxy = world.proxy("tls", "--proxy-protocol")
    there, here = (ipaddress.IPv4Address(address).packed for address in ("203.0.113.9", "192.0.2.1"))
    signature = b"\r\n\r\n\0\r\nQUIT\n"
    header = signature + struct.pack("!BBH4s4sHH", 0x21, 0x11, 12, there, here, 40_000, 5432)
    with RawClient("127.0.0.1", proxy.port) as client:
        client.send(header + startup(user="by_password", database="postgres"))
        answer = client.receive()
        assert answer is not None
        assert (answer.kind, b"C28000\0" in answer.body) == ("E", True)
        assert b"sslmode=require" in answer.body


async def enter_by_asyncpg(dsn: str) -> None:
    unverified = ssl.create_default_context()
    unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
    connection = await asyncpg.connect(dsn, ssl=unverified)
    try:
        assert await connection.fetchval("show server_version") is not None
    finally:
        await connection.close()


def test_drivers_that_do_not_bind_are_relayed(world: World, classes: Path) -> None:
    """Not even a verifier is needed for them where both legs have TLS."""
    proxy = world.proxy("tls", login="other_login")
    who = {"user": "by_scram_sha_256", "password": PASSWORD}
    asyncio.run(enter_by_asyncpg(proxy.dsn(**who)))
    assert "simple" in printed_by_node("show.js", proxy.dsn(**who, sslmode="no-verify"), "server_version")
    assert "prepared" in printed_by_java(
        classes, "Show", proxy.dsn(**who, sslmode="require"), "server_version"
    )


@pytest.mark.parametrize("binding", BINDINGS)
def test_embedded_server(gavial_embedded: Gavial, binding: str) -> None:
    outcome = attempt(gavial_embedded.dsn(sslmode="disable", channel_binding=binding))
    assert outcome.accepted == (binding != "require")
    wrong = gavial_embedded.dsn(sslmode="disable", channel_binding=binding, password="wrong")
    assert attempt(wrong).sqlstate == ("" if binding == "require" else "28P01")
