"""From PostgreSQL's canonical text of a view to a query in which every name and type is settled."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from catalog.errors import FeatureNotSupported
from catalog.postgres.schema import Column, Tables, Views
from catalog.postgres.signatures import Signatures
from dialect.binding.canonical_text import read_query
from dialect.binding.query import QueryBinder
from dialect.binding.views import BoundViews
from dialect.bound.query import Query
from dialect.depth import limited_depth


def bind(
    canonical_text: str,
    tables: Tables,
    signatures: Signatures,
    view_columns: Sequence[Column],
    views: Views = MappingProxyType({}),
) -> Query:
    """The bound query, whose columns are exactly the view's; refused where this cannot be said for sure.

    A view among `views` is read as the subquery that it is.
    """

    def bound(text: str, columns: Sequence[Column], below: BoundViews) -> Query:
        query = QueryBinder(signatures, tables, below).query(read_query(text), None)
        check_columns(query, columns)
        return query

    with limited_depth():
        below = BoundViews(views, lambda view, others: bound(view.text, view.columns, others))
        return bound(canonical_text, view_columns, below)


def check_columns(query: Query, view_columns: Sequence[Column]) -> None:
    """Refuse a bound query whose columns PostgreSQL has otherwise."""
    expected = [(column.name, column.type) for column in view_columns]
    bound = [(column.name, column.type) for column in query.columns]
    if expected != bound:
        differing = next((pair for pair in zip(expected, bound, strict=False) if pair[0] != pair[1]), None)
        raise FeatureNotSupported(
            "the query was not understood as PostgreSQL understands it",
            detail=f"It would have {len(bound)} columns instead of {len(expected)}."
            if differing is None
            else f'Its column "{differing[0][0]}" would have another name, type or collation.',
            hint="Name its columns, and cast them to the types that they are to have.",
        )
