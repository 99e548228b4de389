"""Generated columns that no change tells: each is read as the expression by which PostgreSQL computes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from sqlglot import exp

from catalog.errors import Error, FeatureNotSupported
from catalog.postgres.schema import Table
from catalog.postgres.signatures import Signatures
from catalog.postgres.types import BYTEA, FLOAT4, FLOAT8, SqlType
from dialect.binding.canonical_text import read_query
from dialect.binding.casts import cast
from dialect.binding.expression import ExpressionBinder
from dialect.binding.scope import Scope, Source
from dialect.bound.expression import Column, Expression
from dialect.bound.query import OutputColumn, Query, Scan, Select, Target
from dialect.bound.walk import inside
from dialect.expressions.scalar import Cast, CastMethod, Constant

_HINT: Final = (
    "PostgreSQL 18 tells the values of generated columns; before, keep the value in a plain column "
    "that a trigger fills."
)

_WRITTEN_BY_SETTINGS: Final = (BYTEA, FLOAT4, FLOAT8)
"""The types whose values PostgreSQL takes for immutable as text, though settings say how they are written."""


def reads_generated(table: Table, tree: exp.Expr, renamed: Sequence[str]) -> bool:
    """Whether a query may read such a column of the table, whose first columns an alias has renamed."""
    names = {name for name, _expression in table.generated}
    if not names:
        return False
    columns = {column.name for column in table.columns[: len(renamed)]}
    return bool(names & columns) or any(
        identifier.name in names for identifier in tree.find_all(exp.Identifier)
    )


def with_generated(
    signatures: Signatures, table: Table, bind_query: Callable[[exp.Expr, Scope], Query]
) -> tuple[Query, Mapping[int, Error]]:
    """The table as a query that computes its generated columns, and why some of them cannot be read.

    Those are NULL in the query; nobody may name them.
    """
    columns = tuple(OutputColumn(column.name, column.type) for column in table.columns)
    binder = ExpressionBinder(signatures, Scope((Source(0, table.name.name, None, columns),)), bind_query)
    expressions = dict(table.generated)
    values: list[Expression] = []
    refused: dict[int, Error] = {}
    for number, column in enumerate(columns):
        if column.name not in expressions:
            values.append(Column(0, 0, number, column.name, column.type))
            continue
        try:
            values.append(_computed(binder, column.type, expressions[column.name]))
        except Error as error:
            values.append(Constant(None, column.type))
            refused[number] = _refusal(table, column.name, expressions[column.name], error)
    targets = tuple(Target(column.name, value) for column, value in zip(columns, values, strict=True))
    scan = Scan(0, table.name, table.name.name, columns, tuple(range(len(columns))))
    body = Select(
        sources=(scan,),
        condition=None,
        grouped=False,
        group=(),
        having=None,
        targets=targets,
        distinct=False,
        distinct_on=(),
    )
    return Query((), body, (), None, None, columns), refused


def _computed(binder: ExpressionBinder, type: SqlType, text: str | None) -> Expression:
    """The value, as it is assigned to a column of this type."""
    if text is None:
        raise FeatureNotSupported("its partitions compute it by different expressions")
    select = read_query(f"SELECT {text} AS value")
    value = cast(binder.signatures, binder.expression(select.expressions[0].this), type)
    for node, _depth in inside(value):
        if isinstance(node, Cast) and _is_written_by_settings(binder.signatures, node):
            raise FeatureNotSupported("a text in it depends on the settings of the session that writes a row")
    return value if value.type == type else Cast(value, CastMethod.RELABEL, 0, type)


def _is_written_by_settings(signatures: Signatures, cast: Cast) -> bool:
    source = cast.argument.type.oid
    while signatures.types[source].base:
        source = signatures.types[source].base
    return cast.method is CastMethod.TEXT and source in _WRITTEN_BY_SETTINGS


def _refusal(table: Table, column: str, text: str | None, error: Error) -> Error:
    generated = "" if text is None else f"It is generated always as {text}: "
    return FeatureNotSupported(
        f'cannot maintain a query that reads the generated column "{column}" of table "{table.name.name}"',
        detail=f"{generated}{error.message}.",
        hint=_HINT,
    )
