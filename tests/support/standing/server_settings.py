"""Settings that change how values are read and written, which no answer may depend on."""

from __future__ import annotations

from random import Random
from typing import Final

_VALUES: Final = (
    ("DateStyle", ("German, DMY", "SQL, DMY", "Postgres, MDY", "ISO, YMD")),
    ("IntervalStyle", ("sql_standard", "postgres_verbose", "iso_8601")),
    ("TimeZone", ("Asia/Kathmandu", "America/New_York", "Africa/Monrovia")),
    ("bytea_output", ("escape",)),
    ("array_nulls", ("off",)),
    ("quote_all_identifiers", ("on",)),
    ("transform_null_equals", ("on",)),
    ("default_transaction_isolation", ("serializable",)),
)
FORGOTTEN: Final = "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I RESET ALL', current_database()); END $$"
"""Takes all settings of the database away."""


def settings(random: Random) -> tuple[str, ...]:
    """Statements that give the database some of them, for sessions to come."""
    chosen = random.sample(_VALUES, random.randint(2, 5))
    return tuple(_statement(name, random.choice(values)) for name, values in chosen)


def _statement(name: str, value: str) -> str:
    alter = (
        f"ALTER DATABASE %I SET {name} = {value}"
        if "," in value
        else f"ALTER DATABASE %I SET {name} = ''{value}''"
    )
    return f"DO $$ BEGIN EXECUTE format('{alter}', current_database()); END $$"
