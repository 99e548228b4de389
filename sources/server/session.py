"""Sessions of ours in a database whose changes are captured."""

from __future__ import annotations

from typing import Final

from psycopg import Connection
from psycopg.conninfo import conninfo_to_dict, make_conninfo

LOCK_SECONDS: Final = 10

# With row_security off a policy that applies to this login is an error, instead of missing rows.
_OPTIONS: Final = " ".join(
    f"-c {setting}"
    for setting in (
        "row_security=off",
        "default_transaction_isolation=read\\ committed",
        "default_transaction_read_only=off",
        "search_path=pg_catalog",
        "statement_timeout=0",
        "idle_in_transaction_session_timeout=0",
        "idle_session_timeout=0",
        f"lock_timeout={LOCK_SECONDS}s",
        "DateStyle=ISO",
        "IntervalStyle=postgres",
        "TimeZone=UTC",
        "extra_float_digits=1",
        "bytea_output=hex",
        "array_nulls=on",
        "standard_conforming_strings=on",
        "transform_null_equals=off",
        "quote_all_identifiers=off",
    )
)


def connect(address: str, application: str = "gavial") -> Connection:
    """A session in autocommit mode, without settings of the role or the database that change results."""
    return Connection.connect(session_address(address, application), autocommit=True, prepare_threshold=None)


def session_address(address: str, application: str, **parameters: str) -> str:
    """The same address for libpq, with the settings that every session of ours has.

    To make a slot the server waits for all transactions that have written something, however long.
    """
    given = str(conninfo_to_dict(address).get("options") or "")
    unlimited = "-c lock_timeout=0" if "replication" in parameters else ""
    return make_conninfo(
        address,
        options=f"{given} {_OPTIONS} {unlimited}".strip(),
        application_name=application,
        client_encoding="UTF8",
        keepalives_idle=60,
        **parameters,
    )
