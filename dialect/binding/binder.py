"""What a rule for expressions is given: signatures, names in sight, and how to bind what stands inside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias

from sqlglot import exp

from catalog.postgres.signatures import Signatures
from dialect.binding.scope import Scope
from dialect.bound.expression import Expression
from dialect.bound.query import Query


class Binder(Protocol):
    """The place where an expression stands; `windows` are the query's named ones."""

    @property
    def signatures(self) -> Signatures:
        """Operators, functions, casts and types."""

    @property
    def scope(self) -> Scope:
        """What names mean here."""

    @property
    def windows(self) -> Mapping[str, exp.Window]:
        """The WINDOW clause."""

    def expression(self, node: exp.Expr) -> Expression:
        """Bind an expression that stands inside this one."""

    def query(self, node: exp.Expr) -> Query:
        """Bind a subquery that stands inside this expression."""


Rule: TypeAlias = Callable[[Binder, exp.Expr], Expression]
"""Binds one kind of node; PostgreSQL's parser has checked the text, so a node has the parts of its kind."""


def bare(node: exp.Expr) -> exp.Expr:
    """The node inside any number of brackets."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def folded(identifier: exp.Expr) -> str:
    """What an identifier means: as written in quotes, else in lower case."""
    if isinstance(identifier, exp.Identifier) and identifier.args.get("quoted"):
        return identifier.name
    return identifier.name.lower()
