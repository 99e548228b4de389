"""Reads the snapshot of signatures from a server."""

from __future__ import annotations

from typing import Any, Final, LiteralString

from psycopg import AsyncConnection
from psycopg.rows import tuple_row

from catalog.signatures import (
    CastSignature,
    Collation,
    FunctionSignature,
    OperatorSignature,
    Signatures,
    TypeSignature,
    make_signatures,
)

_TYPES: Final = """
    SELECT t.oid::int8, n.nspname::text, t.typname::text, t.typtype::text, t.typcategory::text,
        t.typispreferred,
        CASE WHEN t.typcategory = 'A' AND t.typarray = 0 THEN t.typelem ELSE 0 END::int8,
        t.typarray::int8, t.typbasetype::int8, t.typcollation::int8
    FROM pg_catalog.pg_type AS t JOIN pg_catalog.pg_namespace AS n ON n.oid = t.typnamespace
    WHERE t.typtype <> 'c' AND NOT EXISTS (
        SELECT FROM pg_catalog.pg_type AS e WHERE e.oid = t.typelem AND e.typtype = 'c')
    ORDER BY t.oid
"""
_OPERATORS: Final = """
    SELECT oid::int8, oprname::text, oprleft::int8, oprright::int8, oprresult::int8, oprcode::oid::int8
    FROM pg_catalog.pg_operator
    WHERE oprnamespace = 'pg_catalog'::regnamespace AND oprcode <> 0
    ORDER BY oid
"""
_FUNCTIONS: Final = """
    SELECT p.oid::int8, p.proname::text,
        CASE WHEN a.aggkind IN ('o', 'h') THEN 'ordered aggregate'
            WHEN p.prokind = 'a' THEN 'aggregate' WHEN p.prokind = 'w' THEN 'window'
            WHEN p.prokind = 'p' THEN 'procedure' ELSE 'function' END,
        ARRAY(SELECT unnest(p.proargtypes)::int8), p.pronargdefaults::int, p.provariadic::int8,
        p.prorettype::int8, p.proretset
    FROM pg_catalog.pg_proc AS p LEFT JOIN pg_catalog.pg_aggregate AS a ON a.aggfnoid = p.oid
    WHERE p.pronamespace = 'pg_catalog'::regnamespace
        AND NOT ARRAY['internal', 'cstring']::regtype[]::oid[] && (p.proargtypes::oid[] || p.prorettype)
    ORDER BY p.oid
"""
_CASTS: Final = """
    SELECT castsource::int8, casttarget::int8, castfunc::int8,
        CASE castcontext WHEN 'i' THEN 'implicit' WHEN 'a' THEN 'assignment' ELSE 'explicit' END,
        CASE castmethod WHEN 'f' THEN 'function' WHEN 'b' THEN 'binary' ELSE 'text' END
    FROM pg_catalog.pg_cast
    ORDER BY castsource, casttarget
"""
_COLLATIONS: Final = """
    SELECT DISTINCT ON (collname) oid::int8, collname::text, collprovider::text, collisdeterministic
    FROM pg_catalog.pg_collation
    WHERE collnamespace = 'pg_catalog'::regnamespace AND collencoding IN (-1, (
        SELECT encoding FROM pg_catalog.pg_database WHERE datname = current_database()))
    ORDER BY collname, collencoding DESC
"""


async def read_signatures(connection: AsyncConnection) -> Signatures:
    """The snapshot of this database: what it has in pg_catalog, and every type."""
    return make_signatures(
        [TypeSignature(*row) for row in await _rows(connection, _TYPES)],
        [OperatorSignature(*row) for row in await _rows(connection, _OPERATORS)],
        [_function(*row) for row in await _rows(connection, _FUNCTIONS)],
        [CastSignature(*row) for row in await _rows(connection, _CASTS)],
        [Collation(*row) for row in await _rows(connection, _COLLATIONS)],
    )


async def _rows(connection: AsyncConnection, query: LiteralString) -> list[tuple[Any, ...]]:
    cursor = await connection.cursor(row_factory=tuple_row).execute(query)
    return await cursor.fetchall()


def _function(oid: int, name: str, kind: Any, arguments: list[int], *rest: Any) -> FunctionSignature:
    return FunctionSignature(oid, name, kind, tuple(arguments), *rest)
