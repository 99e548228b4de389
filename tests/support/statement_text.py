"""Statements of ours back to text in canonical spelling; reading that text gives the statement again."""

from __future__ import annotations

from typing import assert_never

from dialect.statements import statement as kinds
from dialect.statements.options import Setting
from dialect.statements.quoting import literal, quoted, quoted_name


def render(statement: kinds.Statement) -> str:
    """The statement in canonical spelling."""
    match statement:
        case kinds.CreateStandingQuery():
            return render_create(statement)
        case kinds.AlterStandingQuery(name=name, change=change, if_exists=if_exists):
            return f"ALTER STANDING QUERY {exists(if_exists)}{quoted_name(name)} {render_change(change)}"
        case kinds.DropStandingQuery(names=names, if_exists=if_exists, cascade=cascade):
            return f"DROP STANDING QUERY {exists(if_exists)}{listed(names)}{' CASCADE' if cascade else ''}"
        case kinds.RefreshStandingQuery(names=names):
            return f"REFRESH STANDING QUERY {listed(names)}"
        case kinds.VerifyStandingQuery(name=name, using=using):
            return f"VERIFY STANDING QUERY {quoted_name(name)}" + (f" USING {using}" if using else "")
        case kinds.ShowStandingQueries(name=name, verbose=verbose):
            several = f"SHOW STANDING QUERIES{' VERBOSE' if verbose else ''}"
            return several if name is None else f"SHOW STANDING QUERY {quoted_name(name)}"
        case kinds.ShowVersion():
            return "SHOW gavial.version"
        case kinds.ExplainStandingQuery():
            return render_explain(statement)
        case kinds.CommentOnStandingQuery(name=name, text=text):
            return f"COMMENT ON STANDING QUERY {quoted_name(name)} IS {literal(text)}"
        case _:
            assert_never(statement)


def render_create(create: kinds.CreateStandingQuery) -> str:
    """CREATE, with the options in front of AS."""
    parts = [
        "CREATE OR REPLACE STANDING QUERY" if create.replace else "CREATE STANDING QUERY",
        "IF NOT EXISTS" if create.if_not_exists else "",
        quoted_name(create.name),
        f"({', '.join(quoted(column) for column in create.columns)})" if create.columns else "",
        f"WITH {options(create.settings)}" if create.settings else "",
        f"AS {create.query.text}",
        "" if create.with_data else "WITH NO DATA",
    ]
    return " ".join(filter(None, parts))


def render_change(change: kinds.Alteration) -> str:
    """What ALTER does."""
    match change:
        case kinds.SetOptions(settings=settings):
            return f"SET {options(settings)}"
        case kinds.ResetOptions(names=names):
            return f"RESET ({', '.join(names)})"
        case kinds.Suspend():
            return "SUSPEND"
        case kinds.Resume():
            return "RESUME"
        case kinds.Rename(new=new):
            return f"RENAME TO {quoted(new)}"
        case kinds.ChangeOwner(role=role, word=word):
            return f"OWNER TO {role if word else quoted(role)}"
        case kinds.ChangeSchema(schema=schema):
            return f"SET SCHEMA {quoted(schema)}"
        case _:
            assert_never(change)


def render_explain(explain: kinds.ExplainStandingQuery) -> str:
    """EXPLAIN with its options in one fixed order."""
    words = sorted(explain.options - kinds.EXPLAIN_BY_DEFAULT)
    words += [f"{option} off" for option in sorted(kinds.EXPLAIN_BY_DEFAULT - explain.options)]
    words += [] if explain.format == "TEXT" else [f"FORMAT {explain.format}"]
    given = f" ({', '.join(words)})" if words else ""
    match explain.target:
        case kinds.Name() as name:
            return f"EXPLAIN{given} STANDING QUERY {quoted_name(name)}"
        case kinds.CreateStandingQuery() as create:
            return f"EXPLAIN{given} {render_create(create)}"
        case _:
            assert_never(explain.target)


def options(settings: tuple[Setting, ...]) -> str:
    """`(NAME = 'value', …)`."""
    return "(" + ", ".join(f"{setting.name} = {literal(value_text(setting))}" for setting in settings) + ")"


def value_text(setting: Setting) -> str:
    """An option's value as it is written."""
    match setting.value:
        case bool() as switch:
            return "on" if switch else "off"
        case value:
            return str(value)


def listed(names: tuple[kinds.Name, ...]) -> str:
    """Names with commas between."""
    return ", ".join(quoted_name(name) for name in names)


def exists(wanted: bool) -> str:
    """`IF EXISTS `, or nothing."""
    return "IF EXISTS " if wanted else ""
