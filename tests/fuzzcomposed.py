"""Types that are made of others, with the values at their edges: enums, domains, modifiers and arrays."""

from __future__ import annotations

from typing import Final

from tests.fuzzvalues import Feature, Kind

PRELUDE: Final = (
    "CREATE TYPE mood AS ENUM ('zeta', 'alpha', 'mid')",
    "CREATE TYPE pair AS (x integer, y text)",
    "CREATE DOMAIN positive AS integer CHECK (VALUE > 0)",
    "CREATE DOMAIN code AS varchar(3)",
    "CREATE DOMAIN amount AS numeric(9,3) NOT NULL DEFAULT 0",
)

COMPOSED: Final = (
    Kind("mood", "enum", ("zeta", "alpha", "mid")),
    Kind("positive", "int", ("1", "2", "2147483647")),
    Kind("code", "text", ("", "a", "abc", "A")),
    Kind("amount", "numeric", ("0.000", "1.500", "-99.999"), normal="{:.3f}"),
    Kind(
        "integer[]",
        "array",
        ("{}", "{1}", "{1,2}", "{2,1}", "{NULL}", "{1,NULL,3}", "{-2147483648,2147483647}"),
        {Feature.BOUNDS: ("{{1,2},{3,4}}", "[0:1]={1,2}", "[2:2]={1}")},
    ),
    Kind(
        "text[]",
        "array",
        ("{}", '{""}', "{a,b}", "{NULL}", '{"NULL","a b","{}"}', '{"a\\"b"}', "{ä}"),
        {Feature.BOUNDS: ("{{a},{b}}", "[0:0]={a}")},
    ),
    Kind(
        "double precision[]",
        "array",
        ("{}", "{1.5,NaN}", "{Infinity,-Infinity}", "{NULL,0}"),
        {Feature.NEGATIVE_ZERO: ("{-0}", "{0}"), Feature.BOUNDS: ("{{1,2}}",)},
        spellings=True,
    ),
    Kind(
        "numeric[]",
        "array",
        ("{}", "{1.5,2.25}", "{NULL}", "{0}"),
        {Feature.SCALE: ("{1.0}", "{1}", "{1.00,2}"), Feature.BOUNDS: ("{{1.0}}",)},
        needs=Feature.SCALE,
        spellings=True,
    ),
    Kind(
        "date[]", "array", ("{}", "{2000-02-29,NULL}", "{1970-01-01}"), {Feature.FAR_DATES: ("{infinity}",)}
    ),
    Kind(
        "jsonb[]",
        "array",
        ("{}", '{"{\\"a\\": 1}"}', "{null,NULL}"),
        {Feature.JSONB_SCALE: ("{1.0}", "{1}")},
        spellings=True,
    ),
    Kind("boolean[]", "array", ("{}", "{t,f,NULL}")),
    Kind("timestamptz[]", "array", ("{}", '{"2000-02-29 12:34:56.789+03"}')),
)
