"""Statements of ours as PostgreSQL runs them: calls whose arguments carry the whole request."""

from __future__ import annotations

import json
from typing import Any, Final, TypeAlias, assert_never

from catalog.errors import Error
from dialect.statements.options import without_effect
from dialect.statements.places import places_in
from dialect.statements.quoting import literal, quoted_name
from dialect.statements.statement import (
    EXPLAIN_WITHOUT_EFFECT,
    Alteration,
    AlterStandingQuery,
    ChangeOwner,
    ChangeSchema,
    CommentOnStandingQuery,
    CreateStandingQuery,
    DropStandingQuery,
    ExplainStandingQuery,
    Name,
    RefreshStandingQuery,
    Rename,
    ResetOptions,
    Resume,
    SetOptions,
    ShowStandingQueries,
    ShowVersion,
    Statement,
    Suspend,
    VerifyStandingQuery,
)

Request: TypeAlias = dict[str, Any]

SHOWN: Final = (
    "schema",
    "name",
    "owner",
    "status",
    "detail",
    "trigger",
    "last_result",
    "next_trigger",
    "late_by",
    "goal",
    "measured",
)
"""Columns of SHOW STANDING QUERIES: of the view `gavial.shown`."""

SHOWN_IF_VERBOSE: Final = ("predicted", "position")
"""Those that are behind them with VERBOSE."""

_BLOCK: Final = "$gavial$"


def call_for(statement: Statement, *, alone: bool = True) -> str:
    """What PostgreSQL runs in the place of a statement of ours.

    `alone`: it may end a transaction, unless PostgreSQL knows better.
    """
    match statement:
        case CreateStandingQuery():
            procedure = "perform_and_wait" if statement.with_data else "perform"
            return call(procedure, "CREATE STANDING QUERY", create_request(statement) | {"alone": alone})
        case AlterStandingQuery(name=name, change=change, if_exists=if_exists):
            request = {"kind": "alter", "if_exists": if_exists, "change": change_request(change)}
            return perform("ALTER STANDING QUERY", request | named(name))
        case DropStandingQuery(names=names, if_exists=if_exists, cascade=cascade):
            shared = {"kind": "drop", "if_exists": if_exists, "cascade": cascade}
            return perform("DROP STANDING QUERY", *(shared | named(name) for name in names))
        case RefreshStandingQuery(names=names):
            return call("refresh", "REFRESH STANDING QUERY", *(named(name) for name in names))
        case VerifyStandingQuery(name=name, using=using):
            return verify_call(name, using)
        case ShowVersion():
            return tagged("gavial.installation", ('version AS "gavial.version"',), "SHOW")
        case ShowStandingQueries(name=name, verbose=verbose):
            columns = SHOWN + SHOWN_IF_VERBOSE if verbose else SHOWN
            return tagged("gavial.shown", columns, "SHOW") if name is None else show_call(name)
        case ExplainStandingQuery():
            return explain_call(statement)
        case CommentOnStandingQuery(name=name, text=text):
            return perform("COMMENT", {"kind": "comment", "text": text} | named(name))
        case _:
            assert_never(statement)


def refusal(error: Error) -> str:
    """A statement that raises a prepared error, where none of our functions may be installed."""
    settings = {
        "ERRCODE": error.sqlstate,
        "MESSAGE": error.message,
        "DETAIL": error.detail,
        "HINT": error.hint,
        "CONSTRAINT": "gavial:" if error.position is None else f"gavial:{error.position}",
    }
    using = ", ".join(f"{key} = {literal(value)}" for key, value in settings.items() if value is not None)
    block = _BLOCK
    while block in using:
        block = f"${block.strip('$')}x$"
    return f"DO {block}BEGIN RAISE USING {using}; END{block}"


def perform(tag: str, *requests: Request) -> str:
    """A call of the procedure that runs requests one after the other."""
    return call("perform", tag, *requests)


def call(procedure: str, tag: str, *requests: Request) -> str:
    """A call of one of the procedures that run requests."""
    return f"CALL gavial.{procedure}({as_json(list(requests))}, {literal(tag)})"


def create_request(create: CreateStandingQuery) -> Request:
    """Everything PostgreSQL needs to know of a CREATE."""
    return named(create.name) | {
        "kind": "create",
        "schema": create.name.schema,
        "name": create.name.name,
        "columns": create.columns,
        "query": create.query.text,
        "query_place": create.query.position,
        "options": {setting.name: setting.value for setting in create.settings},
        "without_effect": without_effect(create.settings),
        "replace": create.replace,
        "if_not_exists": create.if_not_exists,
        "with_data": create.with_data,
        "places": places_in(create.query.text, create.query.position)
        | {"option": {setting.name: setting.position for setting in create.settings}},
    }


def change_request(change: Alteration) -> Request:
    """What ALTER does, as PostgreSQL is told."""
    match change:
        case SetOptions(settings=settings):
            values = {setting.name: setting.value for setting in settings}
            return {
                "kind": "options",
                "set": values,
                "reset": [],
                "without_effect": without_effect(settings),
            }
        case ResetOptions(names=names):
            return {"kind": "options", "set": {}, "reset": names}
        case Suspend():
            return {"kind": "suspend"}
        case Resume():
            return {"kind": "resume"}
        case Rename(new=new):
            return {"kind": "rename", "to": new}
        case ChangeOwner(role=role, word=word):
            return {"kind": "owner", "to": role, "word": word}
        case ChangeSchema(schema=schema):
            return {"kind": "schema", "to": schema}
        case _:
            assert_never(change)


def show_call(name: Name) -> str:
    """SHOW of one standing query: its properties, a row each."""
    target = f"pg_catalog.to_regclass({literal(quoted_name(name))})"
    return tagged(f"gavial.show({target}, {as_json(named(name))})", ("property", "value"), "SHOW")


def verify_call(name: Name, using: str | None = None) -> str:
    """VERIFY as a query: the rows in which a result differs from what it is compared with."""
    target = f"pg_catalog.to_regclass({literal(quoted_name(name))})"
    columns = ("side", 'row_text AS "row"', "count")
    request = named(name) | ({} if using is None else {"using": using.lower()})
    return tagged(f"gavial.verify({target}, {as_json(request)})", columns, "VERIFY STANDING QUERY")


def explain_call(explain: ExplainStandingQuery) -> str:
    """EXPLAIN as a query with its one column."""
    match explain.target:
        case Name() as name:
            request = named(name)
        case CreateStandingQuery() as create:
            request = {"create": create_request(create)}
        case _:
            assert_never(explain.target)
    request |= {
        "format": explain.format,
        "options": sorted(explain.options),
        "without_effect": [name for name in EXPLAIN_WITHOUT_EFFECT if name in explain.options],
    }
    column_type = "::json" if explain.format == "JSON" else ""
    call = f"gavial.explain({as_json(request)}) AS line"
    return tagged(call, (f'line{column_type} AS "QUERY PLAN"',), "EXPLAIN")


def tagged(source: str, columns: tuple[str, ...], tag: str) -> str:
    """Rows of a relation; behind them, as the last act, the command tag."""
    nothing = ", ".join("NULL" for _ in columns)
    last = f"SELECT {nothing} FROM gavial.tag({literal(tag)})"
    return f"SELECT {', '.join(columns)} FROM {source} UNION ALL {last}"


def named(name: Name) -> Request:
    """Which standing query is meant, and where the client named it."""
    return {"as_written": quoted_name(name), "place": name.position}


def as_json(value: object) -> str:
    """A value as a constant of type jsonb."""
    return literal(json.dumps(value, ensure_ascii=False)) + "::pg_catalog.jsonb"
