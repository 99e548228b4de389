"""Views are taken for the queries that they are: each is bound by itself, once, and read as a subquery."""

from __future__ import annotations

from collections.abc import Callable

from catalog.errors import FeatureNotSupported
from catalog.postgres.schema import TableName, View, Views
from dialect.bound.query import Query


class BoundViews:
    """The views below a query, bound when they are first met."""

    def __init__(self, views: Views, bind_view: Callable[[View, BoundViews], Query]) -> None:
        self._views = views
        self._bind_view = bind_view
        self._bound: dict[TableName, Query] = {}
        self._open: set[TableName] = set()

    def query(self, name: TableName) -> Query | None:
        """The bound query of a view; None for what is no view."""
        view = self._views.get(name)
        if view is None or name in self._bound:
            return self._bound.get(name)
        if name in self._open:
            raise FeatureNotSupported(f'the view "{name.schema}.{name.name}" reads itself')
        self._open.add(name)
        self._bound[name] = self._bind_view(view, self)
        self._open.remove(name)
        return self._bound[name]
