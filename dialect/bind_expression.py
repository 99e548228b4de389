"""Binds expressions: finds the rule for each kind of node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from sqlglot import exp

from catalog.signatures import Signatures
from dialect import bind_calls, bind_operators, bind_subqueries, bind_values
from dialect.binder import Rule
from dialect.bound import Query
from dialect.bound_expression import Expression
from dialect.scope import Scope
from dialect.unbindable import refused_node

_RULES: Final[Mapping[type[exp.Expr], Rule]] = {
    **bind_calls.RULES,
    **bind_operators.RULES,
    **bind_subqueries.RULES,
    **bind_values.RULES,
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
