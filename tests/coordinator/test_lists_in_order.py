"""The order of lists that a query leaves open is Gavial's in what VERIFY has PostgreSQL compute."""

from __future__ import annotations

import pytest

from coordinator.verify.lists_in_order import lists_in_order

PLACE = "gavial.place_in_list"
DISTINCT = f"ORDER BY {PLACE}(gavial_value)) FROM unnest(array_agg(DISTINCT"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT count(*) AS array_agg FROM public.t",
        "SELECT t.array_agg FROM public.t",
        'SELECT "array_agg"."(" FROM public."array_agg"',
        "SELECT 'array_agg(x)'::text AS x FROM public.t",
        "SELECT array_agg(t.x) OVER (PARTITION BY t.y) AS x FROM public.t",
        "SELECT array_agg(DISTINCT t.x ORDER BY t.x DESC) AS x FROM public.t",
    ],
)
def test_what_is_no_such_list_stays(text: str) -> None:
    assert lists_in_order(text) == text


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("array_agg(t.x)", f"array_agg(t.x ORDER BY {PLACE}(t.x))"),
        ("array_agg(t.x ORDER BY t.y DESC)", f"array_agg(t.x ORDER BY t.y DESC, {PLACE}(t.x))"),
        (
            "string_agg(f(t.x, 'a,b'::text), ', '::text) FILTER (WHERE (t.y > 1))",
            f"string_agg(f(t.x, 'a,b'::text), ', '::text ORDER BY {PLACE}(f(t.x, 'a,b'::text))) "
            "FILTER (WHERE (t.y > 1))",
        ),
        (
            "string_agg(t.x, ','::text ORDER BY t.y)",
            f"string_agg(t.x, ','::text ORDER BY t.y, {PLACE}(t.x))",
        ),
        (
            "array_agg(DISTINCT t.x) FILTER (WHERE t.b)",
            f"(SELECT array_agg(gavial_value {DISTINCT} t.x) FILTER (WHERE t.b)) "
            "AS gavial_value(gavial_value))",
        ),
        (
            "string_agg(DISTINCT t.x, ','::text)",
            f"(SELECT string_agg(gavial_value, ','::text {DISTINCT} t.x)) AS gavial_value(gavial_value))",
        ),
        (
            "array_agg((SELECT array_agg(u.y) FROM u)[1])",
            f"array_agg((SELECT array_agg(u.y ORDER BY {PLACE}(u.y)) FROM u)[1] "
            f"ORDER BY {PLACE}((SELECT array_agg(u.y ORDER BY {PLACE}(u.y)) FROM u)[1]))",
        ),
    ],
)
def test_lists_are_in_the_order_of_their_values(call: str, expected: str) -> None:
    assert lists_in_order(f"SELECT {call} AS é FROM public.t") == f"SELECT {expected} AS é FROM public.t"
