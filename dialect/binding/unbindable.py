"""What the binder has no rule for, by name, and the way out where there is one."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from catalog.errors import ELSEWHERE, NotMaintainable
from dialect.binding.sqlglot_postgres import Canonical

_LONGEST: Final = 80

GROUPINGS: Final = "Write one query for each grouping and put UNION ALL between them."
_FROM_HINT: Final = "Keep the rows of the function in a table, and join that."

UNBINDABLE: Final[dict[type[exp.Expr], tuple[str, str]]] = {
    exp.Adjacent: ("the operator -|-", ELSEWHERE),
    exp.BitString: ("a bit string", "Use an integer, or a text of zeros and ones."),
    exp.Cube: ("CUBE", GROUPINGS),
    exp.ExtendsLeft: ("the operator &<", ELSEWHERE),
    exp.ExtendsRight: ("the operator &>", ELSEWHERE),
    exp.JSONBContainsAllTopKeys: ("the operator ?&", ELSEWHERE),
    exp.JSONBContainsAnyTopKeys: ("the operator ?|", ELSEWHERE),
    exp.JSONBDeleteAtPath: ("the operator #-", ELSEWHERE),
    exp.JSONBPathExists: ("the operator @?", ELSEWHERE),
    exp.StartsWith: ("the operator ^@", ELSEWHERE),
    exp.Distance: ("the operator <->", ELSEWHERE),
    exp.Dot: (
        "a field of a row, or a function outside pg_catalog",
        "Keep the field in a column of its own, or write the function's expression in the query.",
    ),
    exp.Fetch: ("FETCH FIRST ... WITH TIES", "Use LIMIT: all output columns tell rows that tie apart."),
    exp.GroupingSets: ("GROUPING SETS", GROUPINGS),
    exp.Interval: ("an interval in this spelling", "Write it as a cast: '1 day'::interval."),
    exp.Kwarg: ("an argument given by name", "Give the arguments by position."),
    exp.Lateral: ("LATERAL in this form", "Use LATERAL with a subquery."),
    exp.Lock: ("FOR UPDATE or FOR SHARE", "Leave the locking clause out: a standing query only reads."),
    exp.MatchAgainst: ("the operator @@", ELSEWHERE),
    exp.Normalize: ("NORMALIZE", ELSEWHERE),
    exp.Operator: ("an operator outside pg_catalog", "Write its expression in the query."),
    exp.Overlaps: ("OVERLAPS", "Compare the ends of the periods."),
    exp.Placeholder: ("a parameter", "Write the value itself."),
    exp.Rollup: ("ROLLUP", GROUPINGS),
    exp.Star: ("a whole row as a value", "Name the columns."),
    exp.TableSample: ("TABLESAMPLE", "Filter on a column instead."),
    exp.Unnest: ("a function in FROM", _FROM_HINT),
    exp.WithinGroup: (
        "an aggregate WITHIN GROUP",
        "Let the standing query give the rows, and aggregate them in the query that reads its result.",
    ),
}


def refused(piece: str, hint: str = ELSEWHERE) -> NotMaintainable:
    """The error for a piece of a query that no rule covers."""
    return NotMaintainable(piece, hint=hint)


def function_in_from() -> NotMaintainable:
    """The error for a function in FROM."""
    return refused("a function in FROM", _FROM_HINT)


def refused_node(node: exp.Expr) -> NotMaintainable:
    """The error for a node of the tree that no rule covers, by its name in the table or its own."""
    for kind in type(node).__mro__:
        if kind in UNBINDABLE:
            return refused(*UNBINDABLE[kind])
    return refused(f"the expression {node.sql(dialect=Canonical, normalize_functions=False)[:_LONGEST]}")
