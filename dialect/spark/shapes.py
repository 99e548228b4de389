"""Arrays of any dimensions and lower bounds: their elements, and beside these their shape."""

from __future__ import annotations

from catalog.postgres.storage import ListOf, Shaped
from dialect.spark.rendered import Rendered


def parts_of(array: Rendered) -> tuple[Rendered, str]:
    """The elements as a list, and the shape."""
    assert isinstance(array.storage, Shaped)
    return Rendered(f"({array.sql}).elements", array.storage.elements), f"({array.sql}).shape"


def shaped(known: str, elements: str, shape: str) -> str:
    """A struct of both, NULL where `known` is."""
    return f"CASE WHEN {known} IS NOT NULL THEN named_struct('elements', {elements}, 'shape', {shape}) END"


def elements_of(array: Rendered) -> Rendered:
    """The elements as a list, whatever their array's shape."""
    return parts_of(array)[0] if isinstance(array.storage, Shaped) else array


def shape_of_list(elements: str) -> str:
    """That of an array of one dimension that is numbered from 1; an empty array has no dimensions."""
    return f"CASE WHEN size({elements}) = 0 THEN array(0) ELSE array(1, size({elements}), 1) END"


def with_shape(array: Rendered) -> Rendered:
    """A list as an array of one dimension."""
    assert isinstance(array.storage, ListOf)
    return Rendered(shaped(array.sql, array.sql, shape_of_list(array.sql)), Shaped(array.storage))
