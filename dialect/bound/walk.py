"""What stands inside a bound expression, with the level it refers to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass

from catalog.postgres.types import SqlType
from dialect.bound.expression import Aggregate, Column, Expression, Window
from dialect.bound.query import Query


def lowest_level(expressions: Iterable[Expression]) -> int:
    """The nearest query that the columns and aggregates in these belong to, 0 where there are none."""
    levels = [
        node.level - depth
        for expression in expressions
        for node, depth in inside(expression)
        if isinstance(node, Column | Aggregate) and node.level >= depth
    ]
    return min(levels, default=0)


def has_aggregate(expressions: Iterable[Expression]) -> bool:
    """Whether an aggregate of the query itself stands in these, also one in a subquery of theirs."""
    return any(
        isinstance(node, Aggregate) and node.level == depth
        for expression in expressions
        for node, depth in _plain(expression)
    )


def inside(node: object, depth: int = 0) -> Iterator[tuple[object, int]]:
    """The node and all below it, each with the number of queries around it within the node."""
    yield node, depth
    for child in children(node):
        yield from inside(child, depth + isinstance(child, Query))


def _plain(node: object, depth: int = 0) -> Iterator[tuple[object, int]]:
    """What `inside` gives, but of an aggregate that is a window function only the arguments."""
    yield node, depth
    below: Iterable[object] = children(node)
    if isinstance(node, Window) and isinstance(node.call, Aggregate):
        below = (*children(node.call), *node.partition, *node.order)
    for child in below:
        yield from _plain(child, depth + isinstance(child, Query))


def children(node: object) -> Iterator[object]:
    """What stands directly in a node."""
    if not is_dataclass(node):
        return
    for field in fields(node):
        value = getattr(node, field.name)
        if isinstance(value, tuple):
            for item in value:
                yield from item if isinstance(item, tuple) else (item,)
        elif is_dataclass(value) and not isinstance(value, SqlType):
            yield value
