"""The tables of TPC-H: made by tpchgen, and loaded by COPY."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from psycopg import Connection
from psycopg.sql import SQL, Identifier

from catalog.errors import ConfigurationError
from catalog.rows import value_of

_SCRIPT: Final = Path(__file__).with_name("tpch.sql")
_TABLES: Final = ("region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem")
_COPY_BYTES: Final = 1 << 20


def tables_found(connection: Connection) -> str | None:
    """What the schema tpch holds, if the demonstration made it; an error where it is somebody else's."""
    if value_of(connection, "SELECT to_regnamespace('tpch')") is None:
        return None
    comment = value_of(connection, "SELECT obj_description(to_regnamespace('tpch'), 'pg_namespace')")
    if comment is None:
        raise ConfigurationError(
            "there is a schema tpch that the demonstration did not make",
            hint="Choose another --database, or rename the schema.",
        )
    return str(comment)


def load_tables(connection: Connection, scale: float) -> str:
    """Make and fill all tables in one transaction; what they hold, in words."""
    what = f"TPC-H at scale {scale}"
    with tempfile.TemporaryDirectory(prefix="gavial-tpch-") as directory, connection.transaction():
        _generate(directory, scale)
        connection.execute(_SCRIPT.read_bytes())
        for table in _TABLES:
            _load(connection, table, Path(directory, f"{table}.csv"))
        connection.execute(SQL("COMMENT ON SCHEMA tpch IS {}").format(what))
    connection.execute("ANALYZE")
    return what


def _generate(directory: str, scale: float) -> None:
    program = Path(sys.executable).with_name("tpchgen-cli")
    options = ("csv", "--scale-factor", str(scale), "--output-dir", directory)
    try:
        done = subprocess.run([program, *options], capture_output=True, text=True, check=False)
    except OSError as error:
        raise ConfigurationError(f"{program} cannot be run: {error.strerror}") from None
    if done.returncode != 0:
        raise ConfigurationError(f"tpchgen-cli: {' '.join(done.stderr.split())}")


def _load(connection: Connection, table: str, path: Path) -> None:
    command = SQL("COPY {} FROM STDIN (FORMAT csv, HEADER)").format(Identifier(table))
    with path.open("rb") as file, connection.cursor().copy(command) as copy:
        while part := file.read(_COPY_BYTES):
            copy.write(part)
