"""DuckDB's database in this process, as all that use it open it."""

from __future__ import annotations

import atexit

import duckdb

from dialect.duckdb.division import QUOTIENT_FUNCTION, quotient_text
from dialect.duckdb.long_arithmetic import ARITHMETIC_FUNCTION, SUM_FUNCTION, arithmetic_text, sum_text
from dialect.duckdb.number_keys import KEY_ARGUMENTS, KEY_FUNCTION, KEY_TYPE, key_of_text


def open_database(most_bytes: int) -> duckdb.DuckDBPyConnection:
    """A database in memory that writes no file, fetches nothing, and computes in the thread that asks."""
    database = duckdb.connect(
        config={
            "threads": 1,
            "memory_limit": f"{most_bytes}B",
            "temp_directory": "",
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "python_enable_replacements": False,
        }
    )
    database.create_function(QUOTIENT_FUNCTION, quotient_text, ["VARCHAR", "VARCHAR"], "VARCHAR")
    database.create_function(ARITHMETIC_FUNCTION, arithmetic_text, ["VARCHAR"] * 3, "VARCHAR")
    database.create_function(SUM_FUNCTION, sum_text, ["VARCHAR[]"], "VARCHAR")
    database.create_function(KEY_FUNCTION, key_of_text, [*KEY_ARGUMENTS], KEY_TYPE)
    atexit.register(database.close)  # what is still open then is reported on standard error
    return database
