"""Cases for standing queries: tables, queries and changes, as values that can be cut and as an SQL script."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

MARK: Final = "--- "


@dataclass(frozen=True)
class Column:
    """A column of a table, and all that its declaration says."""

    name: str
    declaration: str


@dataclass(frozen=True)
class Table:
    """A table; `tail` follows its columns, `partitions` are statements that come after it."""

    name: str
    columns: tuple[Column, ...]
    tail: str = ""
    partitions: tuple[str, ...] = ()

    def statements(self) -> Iterator[str]:
        """What creates it."""
        columns = ", ".join(f"{column.name} {column.declaration}" for column in self.columns)
        yield f"CREATE TABLE {self.name} ({columns}){self.tail}"
        yield from self.partitions


@dataclass(frozen=True)
class Insert:
    """One row into a table."""

    table: str
    values: tuple[tuple[str, str], ...]

    def sql(self) -> str:
        """The statement."""
        names, values = (", ".join(pair[place] for pair in self.values) for place in (0, 1))
        return f"INSERT INTO {self.table} ({names}) VALUES ({values})"


@dataclass(frozen=True)
class Update:
    """Columns set in the rows of a condition."""

    table: str
    values: tuple[tuple[str, str], ...]
    condition: str

    def sql(self) -> str:
        """The statement."""
        assignments = ", ".join(f"{name} = {value}" for name, value in self.values)
        return f"UPDATE {self.table} SET {assignments} WHERE {self.condition}"


@dataclass(frozen=True)
class Other:
    """Any other statement."""

    text: str

    def sql(self) -> str:
        """The statement."""
        return self.text


Statement: TypeAlias = Insert | Update | Other


@dataclass(frozen=True)
class Free:
    """A column of a result in which PostgreSQL may show any of several equal values.

    The witnesses are a query: what it gives may stand there, as it is written.
    """

    column: int
    witnesses: str


@dataclass(frozen=True)
class Query:
    """A standing query: its targets, what follows them, and its free columns."""

    name: str
    targets: tuple[str, ...]
    rest: str
    free: tuple[Free, ...] = ()
    head: str = "SELECT "

    @property
    def text(self) -> str:
        """The SELECT."""
        return f"{self.head}{', '.join(self.targets)}{self.rest}"

    def without(self, places: frozenset[int]) -> Query:
        """The query without some of its targets, which no other part of it refers to."""
        kept = [place for place in range(len(self.targets)) if place not in places]
        free = tuple(
            replace(choice, column=kept.index(choice.column)) for choice in self.free if choice.column in kept
        )
        return replace(self, targets=tuple(self.targets[place] for place in kept), free=free)


@dataclass(frozen=True)
class Change:
    """Statements of one transaction."""

    statements: tuple[Statement, ...]


@dataclass(frozen=True)
class Restart:
    """Gavial is stopped, in order or by a kill, and started again."""

    killed: bool


Step: TypeAlias = Change | Restart


@dataclass(frozen=True)
class Case:
    """What is played: after the fill and after each step all queries are refreshed and compared."""

    title: str
    tables: tuple[Table, ...]
    fill: tuple[Statement, ...]
    queries: tuple[Query, ...]
    steps: tuple[Step, ...]
    prelude: tuple[str, ...] = ()

    def setup(self) -> Iterator[str]:
        """The statements before the queries."""
        yield from self.prelude
        for table in self.tables:
            yield from table.statements()
        yield from (statement.sql() for statement in self.fill)


def script(case: Case) -> str:
    """The case as text, one statement a line."""
    lines = [f"{MARK}case: {case.title}", *(f"{statement};" for statement in case.setup())]
    for query in case.queries:
        lines += [f"{MARK}query: {query.name}", f"{query.text};"]
        lines += [f"{MARK}free {free.column}: {free.witnesses};" for free in query.free]
    for step in case.steps:
        match step:
            case Change(statements):
                lines += [f"{MARK}change", *(f"{statement.sql()};" for statement in statements)]
            case Restart(killed):
                lines.append(f"{MARK}{'kill' if killed else 'restart'}")
    return "\n".join(lines) + "\n"


def read_cases(text: str) -> tuple[Case, ...]:
    """The cases of a text: what `script` writes, several after another."""
    cases: list[Case] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("-- "):
            continue
        mark, _, rest = line.removeprefix(MARK).partition(":")
        if line.startswith(MARK + "case:"):
            cases.append(Case(rest.strip(), (), (), (), ()))
            continue
        assert cases, f"line {number}: nothing comes before the first case"
        cases[-1] = (
            _with_mark(cases[-1], mark.strip(), rest.strip())
            if line.startswith(MARK)
            else _with_statement(cases[-1], line.strip().removesuffix(";"))
        )
    return tuple(cases)


def _with_mark(case: Case, mark: str, rest: str) -> Case:
    word, _, place = mark.partition(" ")
    match word:
        case "query":
            return replace(case, queries=(*case.queries, Query(rest, (), "", head="")))
        case "free":
            *before, last = case.queries
            free = Free(int(place), rest.removesuffix(";"))
            return replace(case, queries=(*before, replace(last, free=(*last.free, free))))
        case "change":
            return replace(case, steps=(*case.steps, Change(())))
        case "restart" | "kill":
            return replace(case, steps=(*case.steps, Restart(word == "kill")))
        case _:
            raise AssertionError(f"unknown mark {mark!r} in case {case.title!r}")


def _with_statement(case: Case, text: str) -> Case:
    """The statement belongs to what was begun last: a change, a query, or the setup."""
    if case.steps:
        *before, last = case.steps
        assert isinstance(last, Change), f"{case.title}: a statement follows a restart: {text}"
        return replace(case, steps=(*before, Change((*last.statements, Other(text)))))
    if case.queries:
        *others, query = case.queries
        assert not query.text, f"{case.title}: {query.name} has two texts"
        return replace(case, queries=(*others, replace(query, targets=(text,))))
    return replace(case, fill=(*case.fill, Other(text)))
