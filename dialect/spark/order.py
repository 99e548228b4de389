"""What Spark sorts as PostgreSQL sorts a value."""

from __future__ import annotations

from typing import Final

from catalog.postgres.storage import ListOf, Shaped
from dialect.spark.equality import comparable
from dialect.spark.rendered import Rendered
from dialect.spark.shapes import parts_of, shaped

_ELEMENT: Final = "element"


def sort_key(rendered: Rendered) -> str:
    """The value, or something in its place that has PostgreSQL's order in Spark.

    In an array NULL comes after all other elements, in Spark before them.
    """
    match rendered.storage:
        case ListOf(element=element):
            inner = sort_key(Rendered(_ELEMENT, element))
            key = f"named_struct('is_null', {_ELEMENT} IS NULL, 'value', {inner})"
            return f"transform({rendered.sql}, {_ELEMENT} -> {key})"
        case Shaped():
            elements, shape = parts_of(rendered)
            return shaped(rendered.sql, sort_key(elements), shape)
        case _:
            return comparable(rendered).sql
