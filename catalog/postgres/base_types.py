"""The base types of domains.

PostgreSQL does not check a value of a domain that it passes on: where an outer join finds nothing, a column
of a domain that forbids NULL is NULL. What comes in as the base type is not checked either.
"""

from __future__ import annotations

from typing import Final

from psycopg import Connection

from catalog.rows import value_of

_BASE_TYPE: Final = """
    WITH RECURSIVE made_of (type, modifier) AS (
        SELECT %s::oid, %s::int4
        UNION ALL
        SELECT t.typbasetype, t.typtypmod FROM made_of AS m JOIN pg_catalog.pg_type AS t ON t.oid = m.type
        WHERE t.typtype = 'd'
    )
    SELECT pg_catalog.format_type(m.type, m.modifier)
    FROM made_of AS m JOIN pg_catalog.pg_type AS t ON t.oid = m.type WHERE t.typtype <> 'd'
"""


def base_type_name(connection: Connection, oid: int, typmod: int) -> str:
    """The type as PostgreSQL writes it; for a domain, and one over another, what they are over in the end."""
    return str(value_of(connection, _BASE_TYPE, (oid, typmod)))
