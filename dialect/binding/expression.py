"""Binds expressions: finds the rule for each kind of node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from sqlglot import exp

from catalog.postgres.signatures import Signatures
from dialect.binding import calls, operators, subqueries, values
from dialect.binding.binder import Rule
from dialect.binding.scope import Scope
from dialect.binding.unbindable import refused_node
from dialect.bound.expression import Expression
from dialect.bound.query import Query

_RULES: Final[Mapping[type[exp.Expr], Rule]] = {
    **calls.RULES,
    **operators.RULES,
    **subqueries.RULES,
    **values.RULES,
}


@dataclass(frozen=True, slots=True)
class ExpressionBinder:
    """A Binder; `bind_query` binds a subquery in the scope it is given."""

    signatures: Signatures
    scope: Scope
    bind_query: Callable[[exp.Expr, Scope], Query]
    windows: Mapping[str, exp.Window] = field(default_factory=dict)

    def expression(self, node: exp.Expr) -> Expression:
        """Bind one expression."""
        rule = _RULES.get(type(node))
        if rule is None:
            raise refused_node(node)
        return rule(self, node)

    def query(self, node: exp.Expr) -> Query:
        """Bind a subquery of it."""
        return self.bind_query(node, self.scope)
