"""What `SHOW gavial.version` must look like: PostgreSQL's answer to SHOW of one of its settings, renamed."""

from __future__ import annotations

import importlib.metadata

import psycopg

OURS = "gavial.version"
OUR_VERSION = importlib.metadata.version("gavial")


def as_ours(output: str, dsn: str) -> str:
    """The output of a program that was told to show `server_version` on PostgreSQL itself."""
    with psycopg.connect(dsn) as connection:
        version = str(connection.info.parameter_status("server_version"))
    return (
        output.replace("server_version", OURS)
        .replace("SERVER_VERSION", OURS.upper())
        .replace(version, OUR_VERSION)
    )
