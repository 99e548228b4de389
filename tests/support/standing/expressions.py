"""Expressions at the surface of a query, for each family of types.

In a template {c} is the column, {d} another column of its kind or the same, {l} a literal of its kind, {i} an
integer column or literal, {t} a text column or literal. A template that begins with ! may raise an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from tests.support.standing.values import Feature


def _read(text: str) -> tuple[str, ...]:
    """Templates, separated by semicolons."""
    return tuple(re.split(r";\s+", text.strip()))


_SAME: Final = _read("""
    {c} = {l}; {c} IS DISTINCT FROM {d}; {c} IN ({l}, {l}, {l}); {c} = ANY (ARRAY[{l}, {d}])
    """)
_ORDERED: Final = _read("""
    {c} < {l}; {c} >= {d}; {c} BETWEEN {l} AND {d}; greatest({c}, {l}); least({c}, {d}, {l})
    """)
_MAKING: Final = _read("""
    coalesce({c}, {l}); nullif({c}, {l}); CASE WHEN {c} = {l} THEN {d} ELSE {c} END; ARRAY[{c}, {l}];
    CASE WHEN {c} IS NULL THEN {l} END; CASE {c} WHEN {l} THEN 1 WHEN {d} THEN 2 END;
    ({c}, {l}) = ({d}, {l})
    """)
_SHOWN: Final = _read("""
    {c}::text; {c}::text; {c}::varchar; {c}::varchar(3); {c}::char(5); {c}::name; concat({c}, '|', {d});
    length({c}::text); md5({c}::text); {c}::text || '/' || coalesce({d}::text, '');
    '<' || {c}::text || '>'; num_nulls({c}, {d}); {c} IS NULL; format('%s', {c});
    concat_ws(',', {c}, {d}, {l}); quote_nullable({c})
    """)
_NUMERIC: Final = _read("""
    -{c}; abs({c}); sign({c}); floor({c}); ceil({c}); trunc({c}); round({c}); round({c}, 1); trunc({c}, 1);
    round({c}, -1); {c} + {d}; {c} - {d}; {c} * {d}; {c} * 1.10; {c} / 3; !{c} / {d}; {c} % 7; !{c} % {d};
    {c}::numeric(30,4); {c}::float8; !{c}::int; !{c}::bigint; scale({c}); min_scale({c}); trim_scale({c});
    sqrt(abs({c})); !ln({c}); !power({c}, 2); !exp({c}); div({c}, 2); mod({c}, 3); {c}::real; !3 / {c};
    {c} = 1; {c} = 1.50::float8; {c} + 0.000; CASE WHEN {c} > 0 THEN {c} ELSE 0 END; coalesce({c}, 0);
    !log({c}); greatest({c}, 0); {c} * {i}; to_char({c}, 'FM990.00'); !{c}::numeric(5,1); numeric_inc({c});
    {c}::numeric; width_bucket({c}, 0, 10, 4); {c} - {c}; {c} IN (1, 1.5, 0); {c}::numeric::text
    """)
_NO_EQUALITY: Final = frozenset(("json",))
_NO_ORDER: Final = frozenset(("json",))

_OF_FAMILIES: Final[Mapping[str, str]] = {
    "bool": """
    NOT {c}; {c} AND {d}; {c} OR {d}; {c}::int; {c} IS TRUE; {c} IS NOT UNKNOWN; {c} < true
    """,
    "int": """
    {c}::float8; {c}::real; {c}::numeric; {c}::numeric(25,3); !{c}::smallint; !{c}::integer; !-{c};
    {c}::bigint % 7; {c}::bigint / 3; mod({c}::bigint, -5); !{c} + {d}; !{c} * {i}; !abs({c}); !{c} / {i};
    {c} & 12; {c} | 1; {c} # 5; ~{c}; {c} << 3; {c} >> 2; sign({c}); {c}::numeric / 7; {c} / 2.0;
    to_hex({c}::bigint); {c}::float8 / 3; !power({c}, 2); sqrt({c}::float8 * {c}::float8); {c} < 1.5;
    {c}::numeric * 1.10; round({c}::numeric, -1); {c} = 1::float8; div({c}::numeric, 7); !{c}::oid;
    {c} % -1; +{c}; !{c} / -1; !{i} / {c}; !{i} % {c}; !{c} - {d}; abs({c}::bigint / 2); !{c}::float8::bigint;
    {c}::bool; cbrt({c}::float8); width_bucket({c}::float8, 0, 10, 5); to_char({c}, 'FM999G999');
    -{c}::numeric
    """,
    "float": """
    -{c}; abs({c}); sign({c}); floor({c}); ceil({c}); trunc({c}); round({c}); {c}::float8; !{c}::real;
    !{c} * 2; !{c} + {d}; !{c} - {d}; !{c} / {d}; !{c} * {d}; {c}::float8 / 3; !{c}::int; !{c}::numeric;
    !{c}::bigint; !sqrt({c}); cbrt({c}); !exp({c}); !ln({c}); atan2({c}, -1); atan({c}); tanh({c});
    !power({c}, 2); degrees({c}::float8); {c} + 0; {c} * 1; 0 - {c}; {c}::float8 = {d}::float8; {c} > 0;
    {c} = 'NaN'; {c}::text::float8; !{c} % 2; !sin({c}); {c} BETWEEN -1 AND 1; !1 / {c}; {c} / 2;
    !{c}::numeric(12,4); !{c}::smallint; !round({c}::numeric, 2); {c}::real::text; asinh({c}); +{c};
    !{c}::real * 3; !{c} * {i}; !{c}::real + 1::real; {c} = {i}; {c} < 0.1; {c} = 0.1::real; @ {c};
    round({c} / 2)
    """,
    "text": r"""
    upper({c}); lower({c}); initcap({c}); length({c}); octet_length({c}); {c} || {d}; {c} || {t};
    substr({c}, 2); substr({c}, 1, 2); substring({c} FROM 2 FOR 1); left({c}, 2); left({c}, -1);
    right({c}, 2); position({t} IN {c}); replace({c}, 'a', 'xy'); btrim({c}); ltrim({c}, 'a ');
    rtrim({c}); reverse({c}); lpad({c}, 4, '*'); rpad({c}, 3); repeat({c}, 2); {c} LIKE 'a%';
    {c} LIKE '_'; {c} ILIKE '%A%'; {c} NOT LIKE '%\%'; split_part({c}, 'b', 1);
    translate({c}, 'ab', 'x'); ascii({c}); md5({c}); {c} COLLATE "C" < {l}; quote_literal({c});
    quote_ident({c}); starts_with({c}, {t}); {c} ~ '^[a-z]+$'; strpos({c}, {t}); {c}::char(3) = 'a';
    !{c}::int; !{c}::numeric; !{c}::date; overlay({c} PLACING 'x' FROM 1); chr(65 + length({c}) % 20);
    bit_length({c}); {c} = {t}; {c} < {t}; string_to_array({c}, ','); !{c}::jsonb;
    regexp_replace({c}, 'a', 'X', 'g'); encode({c}::bytea, 'escape'); to_hex(length({c}));
    {c} SIMILAR TO 'a|b'; lower({c} COLLATE "C"); upper({c} COLLATE "C"); substr({c}, -1, 3);
    substr({c}, 0); left({c}, 0); right({c}, -1); right({c}, 0); lpad({c}, 0); lpad({c}, 5, '');
    lpad({c}, 5, 'xyz'); rpad({c}, 5, 'xyz'); rpad({c}, -1, 'x'); replace({c}, '', 'x');
    translate({c}, 'aab', 'xy'); position('' IN {c}); btrim({c}, 'ab '); trim(BOTH '' FROM {c});
    {c} LIKE 'a\_%'; {c} LIKE '%$1%'; {c} LIKE ''; {c} LIKE '%'; {c} NOT LIKE '_%_'; repeat({c}, -1);
    repeat({c}, 0); !{c}::smallint; !{c}::bigint; !substr({c}, 1, {i}); {c} COLLATE "C" >= {d};
    greatest({c} COLLATE "C", {l}, {d}); concat({c}, {d}, {t}); {c} = ANY (ARRAY[{t}, {l}]);
    least({c} COLLATE "C", {t}); {c}::varchar(2) || '|'; substr({c}, 2147483647); starts_with({c}, '');
    rtrim({c}, ' a'); ltrim({c})
    """,
    "bpchar": """
    {c} || 'x'; length({c}); octet_length({c}); {c} = 'a'; {c} = {t}; {c} LIKE 'a '; {c} LIKE 'a%';
    lower({c}); {c}::text || '|'; {c}::varchar(3) || '|'; {c}::char(6); {c} < {l}; concat({c}, '|');
    {c} || {d}; substr({c}, 1, 3) || '|'; replace({c}, ' ', '_'); rpad({c}, 6, '*'); reverse({c});
    upper({c}); {c} = {d}; {c}::text = {d}; {c} || {c} || '|'; {c} IN ('a', 'a  '); {c}::char(1);
    {c}::char(1)::text; coalesce({c}, 'b ')::text || '|'; {c} LIKE '%'; left({c}, 2);
    {c}::varchar || '|'; btrim({c}); md5({c})
    """,
    "name": """
    {c} = 'a'; {c}::text || 'x'; length({c}); upper({c}::text);
    {c} = {t}; {c} < 'b'; {c}::varchar(2); {c} || {c}; {c} IN ('a', 'A'); {c} >= 'a'::text COLLATE "C"
    """,
    "json": """
    {c}::text; {c} ->> 'a'; {c}::jsonb; json_typeof({c}); {c} -> 'a'; {c}::jsonb ->> 'b'
    """,
    "jsonb": """
    {c} ->> 'a'; {c} -> 'b'; {c} #>> '{{b,0}}'; jsonb_typeof({c}); {c} @> '{{"a": 1}}'; {c} ? 'a';
    {c}::json; !({c} ->> 'a')::int; {c} -> 0; {c} || '{{"z": 1}}'; {c} - 'a'; !jsonb_array_length({c});
    {c} = '1'; {c} <@ {l}; jsonb_strip_nulls({c});
    {c} <> '1.0'; {c} IN ('1', '"1"', '[]'); {c} < '2'; {c}::text = '1'; {c} = {d}; {c} IS DISTINCT FROM {d}
    """,
    "uuid": """
    {c} < '80000000-0000-0000-0000-000000000000'; {c}::text || '-'; {c} > {d}; {c} BETWEEN {l} AND {d};
    {c} IN ({l}, 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', '{{a0eebc999c0b4ef8bb6d6bb9bd380a11}}')
    """,
    "bytea": r"""
    length({c}); octet_length({c}); encode({c}, 'hex'); encode({c}, 'base64'); {c} || '\x01'::bytea;
    substr({c}, 1, 1); md5({c}); {c} = '\x00'; {c} < '\xee'; !get_byte({c}, 0);
    position('\x00'::bytea IN {c});
    {c} >= {d}; {c} || {d}; {c} IN ('\x', '\xff'); {c} <> 'a'::bytea; {c} > '\x7f'
    """,
    "date": """
    !{c} + 1; !{c} - 100000; {c} - date '-infinity'; {c} > {d}; !{c} - {d}; !date '2000-01-01' - {c};
    !{c} + {i}; !{i} + {c}; !{c}::timestamp; extract(year FROM {c}); extract(week FROM {c});
    extract(month FROM {c}); extract(isoyear FROM {c}); extract(dow FROM {c}); extract(isodow FROM {c});
    extract(century FROM {c}); extract(julian FROM {c}); extract(epoch FROM {c});
    extract(quarter FROM {c}); extract(doy FROM {c}); extract(day FROM {c}); date_part('year', {c});
    !date_part('epoch', {c}); !date_part('week', {c}); !date_trunc('quarter', {c}::timestamp);
    !{c} + interval '1 mon'; !{c} - interval '1 day'; !{c} + time '12:00';
    to_char({c}, 'YYYY-MM-DD Day'); !date_part('doy', {c}); isfinite({c}); {c} < {l}::timestamp;
    {c} = {l}; !date_trunc('week', {c}::timestamp)::date; !age({c}::timestamp, timestamp '2000-01-31');
    !{c}::timestamptz; {c} > timestamp '2000-02-29 00:00:00'; {c} IN ({l}, '1970-01-01');
    {c} = timestamp 'infinity'; !{c} + interval '1 day' * 0
    """,
    "time": """
    {c} + interval '13:00'; {c} - time '01:00'; extract(hour FROM {c}); extract(epoch FROM {c});
    {c}::interval; {c}::time(1); date_trunc('hour', {c}); {c} - interval '1 day 1:00'; {c}::time(0)
    """,
    "timetz": """
    extract(timezone FROM {c}); {c}::time; {c} + interval '13:00'; {c} AT TIME ZONE interval '2:00'
    """,
    "timestamp": """
    !{c} + interval '1 mon'; !{c} - interval '1 year 2 days 03:04:05.6'; !{c} - {d}; {c}::date;
    {c}::time; !date_trunc('month', {c}); !date_trunc('week', {c}); !date_trunc('quarter', {c});
    !date_trunc('second', {c}); !date_trunc('milliseconds', {c}); !date_trunc('hour', {c});
    !date_trunc('year', {c}); !date_trunc('decade', {c}); extract(epoch FROM {c});
    extract(second FROM {c}); extract(isoyear FROM {c}); extract(year FROM {c});
    extract(quarter FROM {c}); extract(week FROM {c}); extract(dow FROM {c}); extract(isodow FROM {c});
    extract(doy FROM {c}); extract(hour FROM {c}); extract(minute FROM {c});
    extract(milliseconds FROM {c}); extract(microseconds FROM {c}); date_part('epoch', {c});
    date_part('second', {c}); date_part('year', {c}); extract(month FROM {c}); extract(day FROM {c});
    to_char({c}, 'HH24:MI:SS.US'); !{c}::timestamp(0); !{c} AT TIME ZONE 'UTC';
    !{c} AT TIME ZONE 'Europe/Berlin'; isfinite({c}); !age({c}, {l});
    !date_bin('15 min', {c}, timestamp '2000-01-01'); extract(decade FROM {c}); {c} < date '2001-01-01';
    {c} = {l}::date; !{c} + interval '1 month - 1 day'; !interval '-1 mon' + {c}; {c} > {d};
    {c} IN ({l}, 'infinity'); !timestamp '2000-01-01' - {c}; !{c} + interval '13:00' = {d};
    {c} BETWEEN {l} AND date '2020-01-01'; !{c} - interval '4714 years'; !{c} + interval '290000 years'
    """,
    "timestamptz": """
    !{c} + interval '1 hour'; !{c} - {d}; extract(epoch FROM {c}); !{c} AT TIME ZONE 'UTC';
    !{c}::timestamptz(0); !{c} AT TIME ZONE 'Europe/Berlin'; !({c} AT TIME ZONE 'UTC')::date;
    !date_trunc('day', {c}, 'America/New_York'); isfinite({c}); {c} = {l};
    !({c} AT TIME ZONE 'Asia/Kathmandu')::text; {c} > {d}; {c} IN ({l}, 'infinity');
    {c} < '2000-02-29 12:34:56.789+03'; {c} BETWEEN {l} AND {d}
    """,
    "interval": """
    !{c} + {d}; !{c} - {d}; !-{c}; !{c} * 2; !{c} / 3; !{c} * 0.1; extract(epoch FROM {c});
    extract(month FROM {c}); !justify_days({c}); !justify_hours({c}); !justify_interval({c});
    date_trunc('day', {c}); !{c}::time; !date '2000-01-31' + {c}; {c} > interval '1 day';
    {c} = interval '30 days'; isfinite({c}); !{c}::interval(0); {c}::interval year; {c}::interval month;
    {c}::interval day; {c}::interval hour; {c}::interval day to minute; {c}::interval hour to second;
    {c}::interval year to month; !timestamp '2000-02-29 12:00' - {c}; {c} < {d};
    !timestamp 'infinity' + {c}; {c} IN ({l}, '1 mon'); !{c} + interval '1 day'; !interval '1 mon' - {c};
    !date '2000-01-31' - {c}; {c} BETWEEN '-1 mon' AND {d}; {c} = '720:00:00'
    """,
    "enum": """
    {c}::text || '!'; {c} > 'zeta'; {c} = 'mid'; upper({c}::text); {c} IN ('mid', 'zeta'); {c} <> {d}
    """,
    "array": """
    cardinality({c}); array_length({c}, 1); {c}[1]; {c}[2]::text; {c} || {d};
    array_to_string({c}, ',', '*'); array_ndims({c}); array_lower({c}, 1); array_upper({c}, 1);
    {c} @> {d}; {c} && {d}; {c}[1:1]; array_dims({c}); ({l})[1] = ANY ({c}); array_cat({c}, {l});
    array_append({c}, ({l})[1]); array_remove({c}, ({l})[1]); array_position({c}, ({l})[1]);
    array_prepend({l}[1], {c}); {c} = {d}; {c} <> {l}; {c} < {d}; ({l})[1] <> ALL ({c}); {c}[1] = {d}[1];
    {c}[2] IS NULL; coalesce({c}[1], ({l})[2]); {c} = '{{}}'; NULL = ANY ({c})
    """,
}

OF_FAMILIES: Final = {
    **{family: _read(text) for family, text in _OF_FAMILIES.items()},
    "numeric": _NUMERIC,
}
"""What is special to a family; what all have in common comes with `templates`."""

_SHOWS_SCALE: Final = frozenset(_NUMERIC) - {
    "sign({c})",
    "floor({c})",
    "ceil({c})",
    "{c} = 1",
    "{c} = 1.50::float8",
}


def templates(family: str, features: frozenset[Feature]) -> Iterator[str]:
    """The templates of a family that these features allow."""
    every = [*_SHOWN]
    if family not in _NO_EQUALITY:
        every += [*_SAME, *_MAKING]
    if family not in _NO_ORDER:
        every += _ORDERED
    every += [*OF_FAMILIES[family]] * 2
    for template in every:
        if template.startswith("!") and Feature.ERRORS not in features:
            continue
        if Feature.SCALE not in features and _shows_scale(family, template):
            continue
        if Feature.NEGATIVE_ZERO not in features and _makes_negative_zero(family, template):
            continue
        if Feature.LONG_QUOTIENTS not in features and _is_quotient_of_numerics(family, template):
            continue
        if Feature.PADDING not in features and "char(" in template.replace("varchar(", ""):
            continue
        if (
            Feature.FAR_DATES not in features
            and family in ("date", "timestamp", "timestamptz")
            and (
                "+ " in template
                or "- " in template
                or "interval" in template
                or "AT TIME" in template
                or "trunc" in template
                or "::timestamp" in template
                or "bin" in template
            )
        ):
            continue
        yield template


def _shows_scale(family: str, template: str) -> bool:
    return (
        family == "numeric" and (template in _SHOWS_SCALE or template in _MAKING or template in _ORDERED)
    ) or (
        "numeric" in template or "2.0" in template or template.startswith("extract(") or "::jsonb" in template
    )


def _is_quotient_of_numerics(family: str, template: str) -> bool:
    is_numeric = family == "numeric" or "numeric" in template or "2.0" in template
    return " / " in template and is_numeric


def _makes_negative_zero(family: str, template: str) -> bool:
    makes = (
        "-{c}",
        "0 - {c}",
        "ceil({c})",
        "trunc({c})",
        "round({c})",
        "!{c} * {d}",
        "!{c} / {d}",
        "!1 / {c}",
        "!{c} % 2",
    )
    return family == "float" and template in makes
