"""Which server a command talks to: the one of a data directory, or any by its URL."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click
import psycopg
from click.core import ParameterSource
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.errors import Diagnostic

from catalog.errors import ConfigurationError
from catalog.queries.overview import version_of
from catalog.wording import one_line
from proxy.command.options.types import Directory
from proxy.command.output.errors import told_text
from proxy.command.output.progress import said
from proxy.processes.data_directory import in_use

Callback = Callable[..., None]

DEFAULT_DATA: Final = Path("gavial-data")
DATA: Final = click.option(
    "--data",
    type=Directory(file_okay=False, path_type=Path),
    default=DEFAULT_DATA,
    show_default="./gavial-data",
    help="Directory of everything that Gavial keeps.",
)
AS_JSON: Final = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
_URL: Final = click.option(
    "--url", metavar="URL", help="The Gavial to talk to, in place of the one of the data directory."
)
_DATABASE: Final = click.option(
    "--database", metavar="NAME", help="Another database of it than the one that the URL names."
)
_CONNECT_SECONDS: Final = 10


@dataclass(frozen=True, slots=True)
class Server:
    """The Gavial that a command talks to, as the command line names it; nothing is connected yet."""

    data: Path
    url: str | None = None
    database: str | None = None

    def address(self) -> str:
        """How to connect, password included; an error that says what to do where that is not known."""
        url = served_url(self.data) if self.url is None else self.url
        try:
            conninfo_to_dict(url)
            return url if self.database is None else make_conninfo(url, dbname=self.database)
        except (ProgrammingError, UnicodeError) as error:
            raise ConfigurationError(
                f"--url is not a connection string: {one_line(str(error))}",
                hint="For example: postgresql://user@127.0.0.1:5433/postgres",
            ) from None

    @contextmanager
    def connected(self, *, quiet: bool = False) -> Iterator[psycopg.Connection]:
        """A session in autocommit mode; unless `quiet`, what the server says goes to standard error."""
        with connection_to(self.address()) as connection:
            if not quiet:
                connection.add_notice_handler(_tell)
            yield connection


@contextmanager
def connection_to(address: str) -> Iterator[psycopg.Connection]:
    """A session with a Gavial; an error where there is none, or something else answers."""
    try:
        connection = psycopg.connect(
            address, autocommit=True, connect_timeout=_CONNECT_SECONDS, application_name="gavial-command"
        )
    except psycopg.OperationalError as error:
        raise ConfigurationError(
            one_line(str(error)), hint="gavial doctor looks for what is wrong; gavial serve starts a server."
        ) from None
    with connection:
        if version_of(connection) is None:
            raise ConfigurationError(
                f"{connection.info.host}, port {connection.info.port}, is a PostgreSQL, and no Gavial",
                hint="Name the port of gavial serve in --url.",
            )
        yield connection


def asking_server(callback: Callback) -> Callback:
    """Options that name a server and the form of output; the command gets `server` and `as_json`."""

    @DATA
    @_URL
    @_DATABASE
    @AS_JSON
    @functools.wraps(callback)
    def of_options(*, data: Path, url: str | None, database: str | None, **others: object) -> None:
        callback(server=server_of(data, url, database), **others)

    return of_options


def talking_to_server(callback: Callback) -> Callback:
    """The same of a command whose output is not its own."""

    @DATA
    @_URL
    @_DATABASE
    @functools.wraps(callback)
    def of_options(*, data: Path, url: str | None, database: str | None, **others: object) -> None:
        callback(server=server_of(data, url, database), **others)

    return of_options


def server_of(data: Path, url: str | None, database: str | None) -> Server:
    """The server of a command line, which names it in one way."""
    given = click.get_current_context().get_parameter_source("data")
    if url is not None and given is ParameterSource.COMMANDLINE:
        raise click.UsageError("--data and --url exclude each other")
    return Server(data, url, database)


def served_url(data: Path) -> str:
    """The address of what is served from a data directory."""
    try:
        url = (data / "url").read_text().strip() if in_use(data) else ""
    except OSError:
        url = ""
    if not url:
        hint = f"Start it: gavial serve --data {shlex.quote(str(data))}"
        raise ConfigurationError(f"nothing is served from {data}", hint=hint)
    return url


def _tell(diagnostic: Diagnostic) -> None:
    said(told_text(diagnostic))
