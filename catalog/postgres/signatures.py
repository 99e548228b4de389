"""What PostgreSQL's operators, functions and casts take and give: a snapshot of one server's catalog."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, TypeVar

FunctionKind: TypeAlias = Literal["function", "aggregate", "ordered aggregate", "window", "procedure"]
CastContext: TypeAlias = Literal["implicit", "assignment", "explicit"]
CastMethod: TypeAlias = Literal["function", "binary", "text"]

_OF_POSTGRESQL_17: Final = "uuid_extract_version"


@dataclass(frozen=True, slots=True)
class TypeSignature:
    """A type; `element` of an array, `array` over it, `base` of a domain: 0 where there is none."""

    oid: int
    schema: str
    name: str
    kind: str
    category: str
    preferred: bool
    element: int
    array: int
    base: int
    collation: int


@dataclass(frozen=True, slots=True)
class OperatorSignature:
    """An operator; `left` is 0 for a prefix operator."""

    oid: int
    name: str
    left: int
    right: int
    result: int
    function: int


@dataclass(frozen=True, slots=True)
class FunctionSignature:
    """A function; `variadic` is the type of each further argument, 0 for none."""

    oid: int
    name: str
    kind: FunctionKind
    arguments: tuple[int, ...]
    defaults: int
    variadic: int
    result: int
    returns_set: bool


@dataclass(frozen=True, slots=True)
class CastSignature:
    """A cast of pg_cast; `function` is 0 unless the method is one."""

    source: int
    target: int
    function: int
    context: CastContext
    method: CastMethod


@dataclass(frozen=True, slots=True)
class Collation:
    """A collation of pg_catalog."""

    oid: int
    name: str

    @property
    def written(self) -> str:
        """Its qualified name in SQL."""
        return 'pg_catalog."{}"'.format(self.name.replace('"', '""'))


@dataclass(frozen=True, slots=True, eq=False)
class Signatures:
    """The snapshot, by what the binder looks up; a type's qualified name is `schema.name`."""

    types: Mapping[int, TypeSignature]
    types_by_name: Mapping[str, TypeSignature]
    operators: Mapping[str, tuple[OperatorSignature, ...]]
    functions: Mapping[str, tuple[FunctionSignature, ...]]
    casts: Mapping[tuple[int, int], CastSignature]
    collations: Mapping[str, Collation]

    @property
    def has_infinite_intervals(self) -> bool:
        """Whether intervals may be infinite, as from PostgreSQL 17 on: a function that came with it tells."""
        return _OF_POSTGRESQL_17 in self.functions


def make_signatures(
    types: Iterable[TypeSignature],
    operators: Iterable[OperatorSignature],
    functions: Iterable[FunctionSignature],
    casts: Iterable[CastSignature],
    collations: Iterable[Collation],
) -> Signatures:
    """The snapshot of these rows."""
    types = tuple(types)
    return Signatures(
        types={signature.oid: signature for signature in types},
        types_by_name={f"{signature.schema}.{signature.name}": signature for signature in types},
        operators=_grouped(operators, lambda operator: operator.name),
        functions=_grouped(functions, lambda function: function.name),
        casts={(cast.source, cast.target): cast for cast in casts},
        collations={collation.name: collation for collation in collations},
    )


Item = TypeVar("Item")


def _grouped(items: Iterable[Item], key: Callable[[Item], str]) -> Mapping[str, tuple[Item, ...]]:
    groups: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return {name: tuple(group) for name, group in groups.items()}
