"""Types that are made of others, with the values at their edges: enums, domains, modifiers and arrays."""

from __future__ import annotations

from typing import Final

from tests.support.standing.values import Feature, Kind

PRELUDE: Final = (
    "CREATE TYPE mood AS ENUM ('zeta', 'alpha', 'mid')",
    "CREATE TYPE pair AS (x integer, y text)",
    "CREATE DOMAIN positive AS integer CHECK (VALUE > 0)",
    "CREATE DOMAIN code AS varchar(3)",
    "CREATE DOMAIN amount AS numeric(9,3) NOT NULL DEFAULT 0",
    "CREATE DOMAIN small AS positive CHECK (VALUE < 1000)",
    "CREATE DOMAIN feeling AS mood",
    "CREATE DOMAIN moment AS timestamp(3)",
    "CREATE DOMAIN ids AS integer[] CHECK (cardinality(VALUE) < 5)",
    'CREATE DOMAIN word AS text COLLATE "C"',
    "CREATE COLLATION points (provider = libc, locale = 'C.UTF-8')",
)

COMPOSED: Final = (
    Kind("mood", "enum", ("zeta", "alpha", "mid")),
    Kind("positive", "int", ("1", "2", "2147483647")),
    Kind("code", "text", ("", "a", "abc", "A")),
    Kind("small", "int", ("1", "2", "999")),
    Kind("feeling", "enum", ("zeta", "alpha", "mid")),
    Kind(
        "moment",
        "timestamp",
        ("1970-01-01 00:00:00.001", "2000-02-29 12:34:56.789"),
        {Feature.FAR_DATES: ("infinity",)},
    ),
    Kind("ids", "array", ("{}", "{1,2}", "{NULL}")),
    Kind("word", "text", ("", "a", "A", "ä", "\uffee", "😀", "_")),
    Kind("text COLLATE points", "text", ("", "a", "A", "ä", "\uffee", "😀", "b", "_")),
    Kind('varchar(4) COLLATE "POSIX"', "text", ("", "a", "A", "ä", "b   ", "_")),
    Kind(
        "bpchar",
        "bpchar",
        ("", " ", "a", "a ", "a  ", "A", "ab", "ä "),
        needs=Feature.PADDING,
        spellings=True,
    ),
    Kind("character(1)", "bpchar", ("", "a", "A", "ä", "😀"), needs=Feature.PADDING),
    Kind("numeric(3,-2)", "numeric", ("0", "100", "-99900", "12300"), needs=Feature.SCALE),
    Kind("numeric(2,5)", "numeric", ("0", "0.00099", "-0.00001"), needs=Feature.SCALE),
    Kind(
        "numeric(38,0)",
        "numeric",
        ("0", "1", "-1", "9" * 27, "5"),
        {Feature.NUMERIC_LARGE: ("9" * 38, "-" + "9" * 38)},
        needs=Feature.SCALE,
    ),
    Kind(
        "numeric(60,20)",
        "numeric",
        ("0", "1", "-1.5", "12345678901234567.5"),
        {
            Feature.NUMERIC_LARGE: ("0.00000000000000000001", "9" * 39, "-1e39"),
            Feature.NUMERIC_SPECIALS: ("NaN",),
        },
        needs=Feature.SCALE,
    ),
    Kind("timestamptz(2)", "timestamptz", ("1970-01-01 00:00:00+00", "2000-02-29 12:34:56.78+03")),
    Kind("interval(2)", "interval", ("0", "1 mon", "30 days", "00:00:01.25", "-1 day"), spellings=True),
    Kind(
        "interval day to minute",
        "interval",
        ("0", "1 mon", "30 days", "1 day 01:02", "720:00"),
        spellings=True,
    ),
    Kind("interval year", "interval", ("0", "1 year", "-5 years"), {Feature.FAR_DATES: ("infinity",)}),
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
    Kind("bigint[]", "array", ("{}", "{1}", "{9223372036854775807,-9223372036854775808}")),
    Kind(
        "real[]",
        "array",
        ("{}", "{1.5,NaN}", "{0.1,NULL}"),
        {Feature.NEGATIVE_ZERO: ("{-0}", "{0}")},
        spellings=True,
    ),
    Kind("numeric(6,2)[]", "array", ("{}", "{1.50,-2.25}", "{NULL,0}"), needs=Feature.SCALE),
    Kind("varchar(3)[]", "array", ("{}", "{a,NULL,abc}", '{"",","}')),
    Kind("character(2)[]", "array", ("{}", "{a,ab}", '{" ",NULL}'), needs=Feature.PADDING),
    Kind("name[]", "array", ("{}", "{a,B}")),
    Kind("uuid[]", "array", ("{}", "{ffffffff-ffff-ffff-ffff-ffffffffffff,NULL}")),
    Kind("bytea[]", "array", ("{}", '{"\\\\x00","\\\\x"}')),
    Kind("time[]", "array", ("{}", "{12:34:56.789,NULL}"), {Feature.MIDNIGHT: ("{24:00:00}",)}),
    Kind("timestamp(0)[]", "array", ("{}", '{"2000-02-29 12:34:56",NULL}')),
    Kind("interval[]", "array", ("{}", '{"1 mon"}', '{"30 days"}', "{NULL,720:00:00}"), spellings=True),
    Kind("mood[]", "array", ("{}", "{zeta,alpha}", "{NULL}")),
    Kind("positive[]", "array", ("{}", "{1,2}", "{NULL}")),
)
