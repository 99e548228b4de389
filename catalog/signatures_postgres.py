"""Reads the snapshot of signatures, tables and views from a server."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, LiteralString

from psycopg import AsyncConnection, AsyncRawCursor
from psycopg.rows import tuple_row

from catalog.description import table_from
from catalog.schema import Table
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
# Under every deterministic collation these functions give the same, though an argument has one.
_FUNCTIONS: Final = """
    SELECT p.oid::int8, p.proname::text,
        CASE WHEN a.aggkind IN ('o', 'h') THEN 'ordered aggregate'
            WHEN p.prokind = 'a' THEN 'aggregate' WHEN p.prokind = 'w' THEN 'window'
            WHEN p.prokind = 'p' THEN 'procedure' ELSE 'function' END,
        ARRAY(SELECT unnest(p.proargtypes)::int8), p.pronargdefaults::int, p.provariadic::int8,
        p.prorettype::int8, p.proretset, p.proisstrict,
        CASE p.provolatile WHEN 'i' THEN 'immutable' WHEN 's' THEN 'stable' ELSE 'volatile' END,
        EXISTS (
            SELECT FROM pg_catalog.pg_type AS t
            WHERE t.oid = ANY (p.proargtypes) AND (t.typcollation <> 0 OR t.typtype = 'p')
        ) AND p.proname <> ALL ('{
            array_agg, array_append, array_cat, array_length, array_ndims, array_prepend, ascii, bit_length,
            bpcharcat, bpchareq, bpcharlike, bpcharne, bpcharnlike, btrim, cardinality, char_length,
            character_length, chr, concat, concat_ws, convert_to, count, decode, encode, left, length, lpad,
            ltrim, md5, nameeq, namelike, namene, namenlike, octet_length, overlay, quote_ident,
            quote_literal, repeat, reverse, right, rpad, rtrim, string_agg, substr, substring, textcat,
            texteq, textlen, textlike, textne, textnlike, unnest}')
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
_RELATION: Final = (Path(__file__).parent / "routines" / "32_relation.sql").read_bytes().split(b"$body$")[1]
_CANONICAL: Final = (
    "SET LOCAL search_path = ''",
    "SET LOCAL TimeZone = 'UTC'",
    "SET LOCAL DateStyle = 'ISO, YMD'",
    "SET LOCAL IntervalStyle = 'postgres'",
    "SET LOCAL extra_float_digits = 1",
    "SET LOCAL bytea_output = 'hex'",
    "SET LOCAL quote_all_identifiers = off",
    "SET LOCAL standard_conforming_strings = on",
)


async def read_signatures(connection: AsyncConnection) -> Signatures:
    """The snapshot of this database: what it has in pg_catalog, and every type."""
    return make_signatures(
        [TypeSignature(*row) for row in await _rows(connection, _TYPES)],
        [OperatorSignature(*row) for row in await _rows(connection, _OPERATORS)],
        [_function(*row) for row in await _rows(connection, _FUNCTIONS)],
        [CastSignature(*row) for row in await _rows(connection, _CASTS)],
        [Collation(*row) for row in await _rows(connection, _COLLATIONS)],
    )


async def read_table(connection: AsyncConnection, name: str | int) -> Table:
    """A table or view as the catalog has it now; `name` as written in SQL, or its oid."""
    ((oid,),) = await _rows(connection, "SELECT %s::regclass::oid", str(name))
    row = await (
        await AsyncRawCursor(connection, row_factory=tuple_row).execute(_RELATION, (oid,))
    ).fetchone()
    assert row is not None
    return table_from(row[0])


async def read_canonical_text(connection: AsyncConnection, view: str | int) -> str:
    """A view's SELECT as PostgreSQL writes it under fixed settings: names, stars and casts spelled out."""
    async with connection.transaction():
        ((oid,),) = await _rows(connection, "SELECT %s::regclass::oid::int8", str(view))
        for setting in _CANONICAL:
            await connection.execute(setting)
        ((text,),) = await _rows(connection, "SELECT pg_catalog.pg_get_viewdef(%s::oid)", oid)
    return str(text)


async def _rows(
    connection: AsyncConnection, query: LiteralString, *arguments: object
) -> list[tuple[Any, ...]]:
    cursor = await connection.cursor(row_factory=tuple_row).execute(query, arguments or None)
    return await cursor.fetchall()


def _function(oid: int, name: str, kind: Any, arguments: list[int], *rest: Any) -> FunctionSignature:
    return FunctionSignature(oid, name, kind, tuple(arguments), *rest)
