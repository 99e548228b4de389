"""What the binder has no rule for, by name, and the way out where there is one."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from catalog.errors import NotMaintainable

UNBINDABLE: Final[dict[type[exp.Expr], tuple[str, str | None]]] = {
    exp.BitString: ("a bit string", None),
    exp.Cube: ("CUBE", "Write one query for each grouping and put UNION ALL between them."),
    exp.Dot: ("a field of a row, or a function outside pg_catalog", None),
    exp.Fetch: ("FETCH FIRST ... WITH TIES", "Use LIMIT."),
    exp.GroupingSets: ("GROUPING SETS", "Write one query for each grouping and put UNION ALL between them."),
    exp.Interval: ("an interval in this spelling", "Write it as a cast: '1 day'::interval."),
    exp.Kwarg: ("an argument given by name", "Give the arguments by position."),
    exp.Lateral: ("LATERAL in this form", "Use LATERAL with a subquery."),
    exp.Lock: ("FOR UPDATE or FOR SHARE", "Leave the locking clause out: a standing query only reads."),
    exp.Normalize: ("NORMALIZE", None),
    exp.Operator: ("an operator outside pg_catalog", None),
    exp.Overlaps: ("OVERLAPS", "Compare the ends of the periods."),
    exp.Placeholder: ("a parameter", "Write the value itself."),
    exp.Rollup: ("ROLLUP", "Write one query for each grouping and put UNION ALL between them."),
    exp.Star: ("a whole row as a value", "Name the columns."),
    exp.TableSample: ("TABLESAMPLE", None),
    exp.WithinGroup: ("an aggregate WITHIN GROUP", None),
}


def refused(piece: str, hint: str | None = None) -> NotMaintainable:
    """The error for a piece of a query that no rule covers."""
    return NotMaintainable(piece, hint=hint)


def refused_node(node: exp.Expr) -> NotMaintainable:
    """The error for a node of the tree that no rule covers, by its name in the table or its own."""
    for kind in type(node).__mro__:
        if kind in UNBINDABLE:
            return refused(*UNBINDABLE[kind])
    return refused(f"the construct {type(node).__name__}: {node.sql(dialect='postgres')[:80]}")
