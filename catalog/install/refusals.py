"""What a standing query may not contain: the one table, used by CREATE and printed in the documentation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Refusal:
    """A rule: its key in the database, the message (%s is the offending piece), a way out, and the reason."""

    rule: str
    message: str
    hint: str
    reason: str


REFUSALS: Final = (
    Refusal(
        "volatile_function",
        "cannot maintain a query that calls the volatile function %s",
        "Store its result in a column of a table, and read that.",
        "its value changes without any change of data",
    ),
    Refusal(
        "session_function",
        "cannot maintain a query that depends on the clock or the session through %s",
        "Write the value as a constant, or keep it in a table.",
        "the result would have to change without any change of data, or differ from session to session",
    ),
    Refusal(
        "zone_function",
        "cannot maintain a query that depends on the clock or the session through %s",
        "Name the time zone: AT TIME ZONE 'UTC' makes a timestamp of a timestamptz, to be used in its place; "
        "d::timestamp AT TIME ZONE 'UTC' stands for d::timestamptz.",
        "it goes by the time zone of the session",
    ),
    Refusal(
        "text_function",
        "cannot maintain a query that depends on the clock or the session through %s",
        "Join texts with ||, each with coalesce where it may be NULL; what is no text, cast by itself.",
        "it writes values of any type as the settings of the session have it",
    ),
    Refusal(
        "text_conversion",
        "cannot maintain a query that depends on the clock or the session through %s",
        "Leave the value as it is, and convert it where the result is read; or keep its text in a column.",
        "how the value is written or read may differ from session to session",
    ),
    Refusal(
        "user_function",
        "cannot maintain a query that calls the user-defined function %s",
        "Write its expression in the query.",
        "what it computes is not known outside PostgreSQL, and may change",
    ),
    Refusal(
        "system_column",
        "cannot maintain a query that reads the system column %s",
        "Use a column of the table's own.",
        "system columns describe storage, not data",
    ),
    Refusal(
        "row_lock",
        "cannot maintain a query with FOR UPDATE or FOR SHARE",
        "Leave the locking clause out.",
        "a result kept in a table locks nothing",
    ),
    Refusal(
        "sample",
        "cannot maintain a query with TABLESAMPLE",
        "Filter on a column instead.",
        "a sample is another one each time",
    ),
    Refusal(
        "limit_without_order",
        "cannot maintain LIMIT or OFFSET without ORDER BY",
        "Add ORDER BY; rows that tie are told apart by all output columns.",
        "which rows are meant would be left to chance",
    ),
    Refusal(
        "set_in_select_list",
        "cannot maintain a set-returning function in the select list",
        "Keep its rows in a table.",
        "rows multiplied in the select list have no exact counterpart",
    ),
    Refusal(
        "recursion",
        "cannot maintain WITH RECURSIVE",
        "Keep the closure in a table of its own.",
        "a fixpoint has no incremental plan yet",
    ),
    Refusal(
        "type",
        "cannot maintain values of type %s",
        "Cast them to a supported type in the query.",
        "the type has no exact counterpart in the engine",
    ),
    Refusal(
        "collation",
        "cannot maintain values of the non-deterministic collation %s",
        'Use another collation: COLLATE "C", for example.',
        "strings that are equal but not the same would be confused",
    ),
    Refusal(
        "temporary_table",
        "cannot maintain a query on the temporary table %s",
        "Use an ordinary table.",
        "other sessions do not see it, and its changes are not logged",
    ),
    Refusal(
        "unlogged_table",
        "cannot maintain a query on the unlogged table %s",
        "ALTER TABLE … SET LOGGED.",
        "its changes are not logged",
    ),
    Refusal(
        "foreign_table",
        "cannot maintain a query on the foreign table %s",
        "Copy it into an ordinary table.",
        "its changes happen elsewhere",
    ),
    Refusal(
        "system_catalog",
        "cannot maintain a query on the system catalog %s",
        "Query it when it is needed.",
        "changes of catalogs are not decoded",
    ),
    Refusal(
        "materialized_view",
        "cannot maintain a query on the materialized view %s",
        "Read the tables under it.",
        "its changes are not decoded",
    ),
    Refusal(
        "standing_query",
        "cannot maintain a query on the standing query %s",
        "Read the tables under it.",
        "chains of standing queries do not exist yet",
    ),
    Refusal(
        "sequence",
        "cannot maintain a query on the sequence %s",
        "Keep the number in a table.",
        "changes of sequences are not transactional",
    ),
    Refusal(
        "inheritance",
        "cannot maintain a query on %s, which has inheritance children",
        "Use a partitioned table.",
        "changes of the children are logged under their own names",
    ),
    Refusal(
        "virtual_column",
        "cannot maintain a query on %s, which has a virtual generated column",
        "Make the column STORED.",
        "PostgreSQL refuses updates of a table with one whose changes tell whole rows",
    ),
    Refusal(
        "row_security",
        "cannot maintain a query on %s, whose row-level security applies to the owner of the query",
        "Let a role that bypasses it own the query.",
        "what the owner may see would have to be evaluated for each change",
    ),
)
