"""Keys and functional dependencies: what follows from them, and which of them nodes preserve."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from dialect.expressions.scalar import Call, Constant, Reference, Scalar
from planner.algebra.columns import references
from planner.algebra.conditions import conjuncts
from planner.algebra.equality import equal_columns, is_equality
from planner.facts.null_rejection import rejects_nulls

Columns: TypeAlias = frozenset[int]

NONE: Final[Columns] = frozenset()
_MOST_KEYS: Final = 16


@dataclass(frozen=True, slots=True)
class Dependency:
    """Rows that agree on the columns `of` agree on `on`."""

    of: Columns
    on: Columns


@dataclass(frozen=True, slots=True)
class Properties:
    """What holds of a plan's rows; values agree where they are not distinct, so two NULLs do.

    No two rows agree on the columns of a key. Those in `unique` are keys of the rows that have no NULL in
    them. The key without columns says that there is at most one row.
    """

    columns: Columns
    keys: tuple[Columns, ...] = ()
    unique: tuple[Columns, ...] = ()
    not_null: Columns = NONE
    dependencies: tuple[Dependency, ...] = ()

    def determined(self, columns: Columns) -> Columns:
        """The columns that rows agree on if they agree on these: the closure under the dependencies."""
        while True:
            more = columns.union(
                *(dependency.on for dependency in self.dependencies if dependency.of <= columns)
            )
            if more == columns:
                return columns
            columns = more

    def is_key(self, columns: Columns) -> bool:
        """Whether no two rows agree on these columns: then they would agree on a key."""
        determined = self.determined(columns)
        return any(key <= determined for key in self.keys)

    def where(self, condition: Scalar) -> Properties:
        """The rows for which the condition is true.

        What holds of all rows holds of some. A column for whose NULLs the condition is never true has none
        left. A column equal to a constant is the same in all rows; two equal columns determine each other.
        """
        read = references(condition) & self.columns
        not_null = {column for column in read if rejects_nulls(condition, frozenset({column}))}
        more = tuple(dependency for one in conjuncts(condition) for dependency in _equal(one, self.columns))
        dependencies = (*self.dependencies, *more)
        return settled(replace(self, not_null=self.not_null | not_null, dependencies=dependencies))

    def project(self, columns: Columns) -> Properties:
        """Of each row only these of its columns.

        A key remains one if all its columns are left; the columns left are a key if they determine one. A
        dependency between columns left remains, also if it follows only by way of a dropped column.
        """
        keys = tuple(key for key in self.keys if key <= columns)
        if not keys and self.is_key(columns):
            keys = (columns,)
        unique = tuple(key for key in self.unique if key <= columns)
        left = (
            Dependency(dependency.of, self.determined(dependency.of) & columns)
            for dependency in self.dependencies
        )
        dependencies = tuple(dependency for dependency in left if dependency.of <= columns)
        return settled(Properties(columns, keys, unique, self.not_null & columns, dependencies))


def settled(properties: Properties) -> Properties:
    """The same, with unique columns that are never NULL as keys, and keys as small as possible."""
    keys = {*properties.keys, *(key for key in properties.unique if key <= properties.not_null)}
    properties = replace(properties, keys=tuple(keys))
    small = sorted({_smallest(properties, key) for key in keys}, key=lambda key: (len(key), sorted(key)))
    minimal = [key for key in small if not any(other < key for other in small)]
    return replace(
        properties,
        keys=tuple(minimal[:_MOST_KEYS]),
        dependencies=tuple(
            dict.fromkeys(
                dependency for dependency in properties.dependencies if not dependency.on <= dependency.of
            )
        ),
    )


def _smallest(properties: Properties, key: Columns) -> Columns:
    """The key without those of its columns that the others determine."""
    for column in sorted(key):
        if properties.is_key(key - {column}):
            key -= {column}
    return key


def _equal(condition: Scalar, columns: Columns) -> Iterator[Dependency]:
    pair = equal_columns(condition)
    if pair is not None and {reference.column for reference in pair} <= columns:
        yield from equivalent(*(reference.column for reference in pair))
    match condition:
        case Call(arguments=(Reference(column=column), Constant())) if is_equality(condition):
            yield Dependency(NONE, frozenset({column}) & columns)
        case Call(arguments=(Constant(), Reference(column=column))) if is_equality(condition):
            yield Dependency(NONE, frozenset({column}) & columns)


def equivalent(one: int, other: int) -> Iterable[Dependency]:
    """Two columns that have the same value in each row."""
    return Dependency(frozenset({one}), frozenset({other})), Dependency(frozenset({other}), frozenset({one}))
