"""Reads the snapshot of signatures from a server."""

from __future__ import annotations

from typing import Any, Final

from psycopg import AsyncConnection

from catalog.async_rows import rows_of
from catalog.postgres.signatures import (
    CastSignature,
    Collation,
    FunctionSignature,
    OperatorSignature,
    Signatures,
    TypeSignature,
    make_signatures,
)

COLUMNS_OF_TYPE: Final = """
        t.oid::int8, n.nspname::text AS schema, t.typname::text AS name, t.typtype::text AS kind,
        t.typcategory::text AS category, t.typispreferred AS preferred,
        CASE WHEN t.typcategory = 'A' AND t.typarray = 0 THEN t.typelem ELSE 0 END::int8 AS element,
        t.typarray::int8 AS array, t.typbasetype::int8 AS base, t.typcollation::int8 AS collation
"""
"""The fields of a TypeSignature, of pg_type `t` in pg_namespace `n`."""

_TYPES: Final = f"""
    SELECT {COLUMNS_OF_TYPE}
    FROM pg_catalog.pg_type AS t JOIN pg_catalog.pg_namespace AS n ON n.oid = t.typnamespace
    WHERE t.typtype <> 'c' AND NOT EXISTS (
        SELECT FROM pg_catalog.pg_type AS e WHERE e.oid = t.typelem AND e.typtype = 'c')
    ORDER BY t.oid
"""
_OPERATORS: Final = """
    SELECT oid::int8, oprname::text AS name, oprleft::int8 AS left, oprright::int8 AS right,
        oprresult::int8 AS result, oprcode::oid::int8 AS function
    FROM pg_catalog.pg_operator
    WHERE oprnamespace = 'pg_catalog'::regnamespace AND oprcode <> 0
    ORDER BY oid
"""
_FUNCTIONS: Final = """
    SELECT p.oid::int8, p.proname::text AS name,
        CASE WHEN a.aggkind IN ('o', 'h') THEN 'ordered aggregate'
            WHEN p.prokind = 'a' THEN 'aggregate' WHEN p.prokind = 'w' THEN 'window'
            WHEN p.prokind = 'p' THEN 'procedure' ELSE 'function' END AS kind,
        ARRAY(SELECT unnest(p.proargtypes)::int8) AS arguments, p.pronargdefaults::int AS defaults,
        p.provariadic::int8 AS variadic, p.prorettype::int8 AS result, p.proretset AS returns_set
    FROM pg_catalog.pg_proc AS p LEFT JOIN pg_catalog.pg_aggregate AS a ON a.aggfnoid = p.oid
    WHERE p.pronamespace = 'pg_catalog'::regnamespace
        AND NOT ARRAY['internal', 'cstring']::regtype[]::oid[] && (p.proargtypes::oid[] || p.prorettype)
    ORDER BY p.oid
"""
_CASTS: Final = """
    SELECT castsource::int8 AS source, casttarget::int8 AS target, castfunc::int8 AS function,
        CASE castcontext WHEN 'i' THEN 'implicit' WHEN 'a' THEN 'assignment' ELSE 'explicit' END AS context,
        CASE castmethod WHEN 'f' THEN 'function' WHEN 'b' THEN 'binary' ELSE 'text' END AS method
    FROM pg_catalog.pg_cast
    ORDER BY castsource, casttarget
"""
_COLLATIONS: Final = """
    SELECT DISTINCT ON (collname) oid::int8, collname::text AS name
    FROM pg_catalog.pg_collation
    WHERE collnamespace = 'pg_catalog'::regnamespace AND collencoding IN (-1, (
        SELECT encoding FROM pg_catalog.pg_database WHERE datname = current_database()))
    ORDER BY collname, collencoding DESC
"""


async def read_signatures(connection: AsyncConnection) -> Signatures:
    """The snapshot of this database: what it has in pg_catalog, and every type."""
    return make_signatures(
        await rows_of(connection, TypeSignature, _TYPES),
        await rows_of(connection, OperatorSignature, _OPERATORS),
        await rows_of(connection, _function, _FUNCTIONS),
        await rows_of(connection, CastSignature, _CASTS),
        await rows_of(connection, Collation, _COLLATIONS),
    )


def _function(*, arguments: list[int], **signature: Any) -> FunctionSignature:
    return FunctionSignature(arguments=tuple(arguments), **signature)
