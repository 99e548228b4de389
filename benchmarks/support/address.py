"""Where a client connects, and as whom."""

from __future__ import annotations

import os
from dataclasses import dataclass

import psycopg


@dataclass(frozen=True, slots=True)
class Address:
    """Connection parameters; `sslmode` is pinned, so that no connection changes to TLS by itself."""

    host: str
    port: int
    user: str
    password: str
    database: str
    sslmode: str

    def environment(self) -> dict[str, str]:
        """The environment of a libpq program: everything of ours but PG*, and this address."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        return inherited | {
            "PGHOST": self.host,
            "PGPORT": str(self.port),
            "PGUSER": self.user,
            "PGPASSWORD": self.password,
            "PGDATABASE": self.database,
            "PGSSLMODE": self.sslmode,
            "PGGSSENCMODE": "disable",
        }

    def connect(self) -> psycopg.Connection:
        """A connection in autocommit mode; it fails unless the server asks for SCRAM."""
        return psycopg.connect(
            host=self.host,
            port=self.port,
            user=self.user,
            password=self.password,
            dbname=self.database,
            sslmode=self.sslmode,
            gssencmode="disable",
            require_auth="scram-sha-256",
            autocommit=True,
        )
