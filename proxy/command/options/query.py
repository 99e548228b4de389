"""The query that `plan` and `curve` look at: one that is there, or one in a file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click
import psycopg
from psycopg.sql import SQL, Composable, Identifier, Literal

from catalog.errors import ConfigurationError, Error, MalformedStatement
from catalog.queries.overview import described, quoted_name, table_of
from catalog.rows import values_of
from dialect.statements.options import OPTIONS
from dialect.statements.parse import find_ours
from dialect.statements.statement import CreateStandingQuery
from dialect.statements.tokens import statements, unreadable
from proxy.command.options.names import complete_names
from proxy.command.output.errors import StatementFailed
from proxy.command.output.progress import working

_STANDARD_INPUT: Final = "-"
_UNNAMED: Final = "query"
_ONE_QUERY: Final = "the file must have one CREATE STANDING QUERY, or one SELECT, and nothing else"
_QUERY_WORDS: Final = ("SELECT", "WITH", "VALUES", "TABLE", "(")


@dataclass(frozen=True, slots=True)
class Explainable:
    """What stands behind EXPLAIN; `text` is the user's own part of it, from `begin` of what was read."""

    statement: Composable
    search_path: str | None = None
    written: str = ""
    text: str = ""
    begin: int = 0


def looked_at(callback: Callable[..., None]) -> Callable[..., None]:
    """The query as an argument, and options that replace its own."""
    query = click.argument("query", metavar="NAME|FILE.sql", shell_complete=_complete)
    changed = click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="OPTION=VALUE",
        callback=_settings,
        help="Look at it with another option: FINAL_WORK=0.2, 'EXPECT=orders 1000'; again for more.",
    )
    return query(changed(callback))


def explained_text(
    connection: psycopg.Connection, query: str, settings: Mapping[str, str], options: Sequence[str]
) -> str:
    """What EXPLAIN with these options says, as text."""
    return "\n".join(_explained(connection, query, settings, options))


def explained_values(
    connection: psycopg.Connection, query: str, settings: Mapping[str, str], options: Sequence[str]
) -> dict[str, Any]:
    """The same as values, which FORMAT JSON gives."""
    values: dict[str, Any] = _explained(connection, query, settings, [*options, "FORMAT JSON"])[0]
    return values


def is_file(query: str) -> bool:
    """Whether an argument names a file, and not a query."""
    return query == _STANDARD_INPUT or query.lower().endswith(".sql") or "/" in query


def _explained(
    connection: psycopg.Connection, query: str, settings: Mapping[str, str], options: Sequence[str]
) -> list[Any]:
    """The rows of EXPLAIN; nothing is created."""
    explainable = _explainable(connection, query, settings)
    head = SQL("EXPLAIN ({}) ").format(SQL(", ").join(map(SQL, options)))
    statement = (head + explainable.statement).as_string(connection) + explainable.text
    with working(f"planning {query}"), connection.transaction(force_rollback=True):
        if explainable.search_path is not None:
            connection.execute("SELECT set_config('search_path', %s, true)", (explainable.search_path,))
        try:
            return values_of(connection, statement.encode())
        except psycopg.Error as error:
            place = error.diag.statement_position
            before = len(statement) - len(explainable.text) - explainable.begin
            position = int(place) - before if place is not None and explainable.text else None
            raise StatementFailed(error, explainable.written, position) from None


def _explainable(connection: psycopg.Connection, query: str, settings: Mapping[str, str]) -> Explainable:
    if is_file(query):
        return from_text(_read(query), settings)
    name = quoted_name(connection, query)
    if not settings:
        return Explainable(SQL("STANDING QUERY {}").format(name))
    known = described(connection, table_of(connection, query))
    text = str(known["text"])
    head = _create(name, {**known["options"], **settings})
    return Explainable(head, known["search_path"], text, text)


def from_text(written: str, settings: Mapping[str, str]) -> Explainable:
    """What a file has: one CREATE STANDING QUERY, or the SELECT of one.

    What cannot be read goes to the server, which says what is wrong with it, and where.
    """
    all_statements = tuple(statements(written))
    our_statements = find_ours(written)
    if len(all_statements) > 1 or (
        our_statements and not isinstance(our_statements[0].statement, CreateStandingQuery | Error)
    ):
        raise MalformedStatement(_ONE_QUERY)
    if our_statements:
        if settings:
            raise click.UsageError(
                "--set is for a query that is there, or for a SELECT; the file has options of its own"
            )
        (one,) = our_statements
        return Explainable(SQL(""), None, written, written[one.start : one.end], one.start)
    if not all_statements and unreadable(written) is None:
        hint = "Write a SELECT, or CREATE STANDING QUERY."
        raise ConfigurationError("there is no query in it", hint=hint)
    if all_statements and all_statements[0][0].word not in _QUERY_WORDS:
        raise MalformedStatement(_ONE_QUERY)
    text = written[: all_statements[0][-1].end] if all_statements else written
    return Explainable(_create(Identifier(_UNNAMED), settings), None, written, text)


def _create(name: Identifier, settings: Mapping[str, object]) -> Composable:
    options = [SQL("{} = {}").format(SQL(key), Literal(str(value))) for key, value in settings.items()]
    given = SQL(" WITH ({})").format(SQL(", ").join(options)) if options else SQL("")
    return SQL("CREATE STANDING QUERY {}{} AS ").format(name, given)


def _read(file: str) -> str:
    try:
        return sys.stdin.read() if file == _STANDARD_INPUT else Path(file).read_text()
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigurationError(f"cannot read {file}: {why}") from None


def _settings(_context: click.Context, _parameter: click.Parameter, given: Sequence[str]) -> dict[str, str]:
    known = set(OPTIONS)
    settings = {}
    for setting in given:
        name, equals, value = setting.partition("=")
        name = name.strip().upper()
        if not equals or name not in known:
            raise click.BadParameter(
                f"'{setting}' is not OPTION=VALUE; options are {', '.join(sorted(known))}."
            )
        settings[name] = value.strip()
    return settings


def _complete(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    here = Path(incomplete).parent
    files = sorted(str(path) for path in here.glob("*.sql") if str(path).startswith(incomplete))
    return [*files, *complete_names(ctx, parameter, incomplete)]
