"""What the operator asked for, as frozen values that travel to the worker processes as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from catalog.errors import ConfigurationError
from catalog.wording import one_line
from executors.settings import EngineSettings

_SSL_MODES: Final = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")


@dataclass(frozen=True, slots=True)
class Upstream:
    """The PostgreSQL behind the proxy, and the proxy's own login there (its control connection)."""

    host: str
    port: int
    user: str
    password: str
    database: str
    sslmode: str = "prefer"
    sslrootcert: str = ""
    embedded: bool = False

    @property
    def socket_path(self) -> str | None:
        """The Unix socket to connect to, where the host is a directory."""
        return f"{self.host}/.s.PGSQL.{self.port}" if self.host.startswith("/") else None


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on connections and on the time that clients and the shutdown may take."""

    connections: int = 5000
    startup_seconds: float = 60.0
    drain_seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything a worker needs to know."""

    upstream: Upstream
    limits: Limits
    tls_cert: str = ""
    tls_key: str = ""
    allow_trust: bool = False
    proxy_protocol: bool = False
    log_level: str = "warning"
    proxy_only: bool = False
    allow_unbounded_wal: bool = False
    engines: EngineSettings = field(default_factory=lambda: EngineSettings(Path()))

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps({**asdict(self), "engines": self.engines.to_values()})

    @staticmethod
    def from_json(text: str) -> Settings:
        """The value that `to_json` wrote."""
        values: dict[str, Any] = json.loads(text)
        values["upstream"] = Upstream(**values["upstream"])
        values["limits"] = Limits(**values["limits"])
        values["engines"] = EngineSettings.of(values["engines"])
        return Settings(**values)


def read_address(dsn: str) -> dict[str, str]:
    """The parameters of a connection string, as far as libpq can read it."""
    try:
        return {key: str(value) for key, value in conninfo_to_dict(dsn).items()}
    except (ProgrammingError, UnicodeError) as error:
        raise ConfigurationError(
            f"--upstream is not a connection string: {one_line(str(error))}",
            hint="For example: postgresql://user@127.0.0.1:5432/postgres",
        ) from None


def read_port(text: str) -> int:
    """A number that a server can listen on."""
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and 0 < int(text) <= 65535):
        raise ConfigurationError(f'--upstream: port "{text}" is not a number from 1 to 65535')
    return int(text)


def parse_upstream(dsn: str) -> Upstream:
    """Read `--upstream`: exactly what it says, so a host must be named and there is one of it."""
    given = read_address(dsn)
    host = given.get("host") or given.get("hostaddr", "")
    if not host or "," in host:
        raise ConfigurationError(
            "--upstream must name one host", hint="For example: postgresql://user@127.0.0.1:5432/postgres"
        )
    mode = given.get("sslmode", "prefer")
    if mode not in _SSL_MODES:
        raise ConfigurationError(f'--upstream: sslmode "{mode}" is none of {", ".join(_SSL_MODES)}')
    if "sslcert" in given:
        raise ConfigurationError("--upstream: a client certificate would make every client the proxy itself")
    user = given.get("user", "postgres")
    return Upstream(
        host=host,
        port=read_port(given.get("port") or "5432"),
        user=user,
        password=given.get("password", ""),
        database=given.get("dbname", user),
        sslmode=mode,
        sslrootcert=given.get("sslrootcert", ""),
    )
