"""Scripts of statements and the answers recorded for them.

A script is blocks of a directive, a statement and, behind `----`, what came back. Directives:

* `run`: the answer is that of Gavial, in the simple and the extended protocol, on every version.
* `several`: the same for strings of statements, which only the simple protocol takes.
* `view`: the first line is the head of a CREATE STANDING QUERY, the rest its SELECT. The answer is what
  PostgreSQL itself says of CREATE VIEW … AS the same SELECT, the position moved by what the heads differ in
  length.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from psycopg import pq
from psycopg.pq.abc import PGconn, PGresult

_CODECS = {"UTF8": "utf-8", "LATIN1": "latin-1", "SJIS": "cp932"}
_VIEW = "CREATE VIEW compared AS\n"
_SHOWN_BEHIND_A_POSITION = 12

WAITING_FOR_A_PLAN = "waiting for the proxy to check and plan the query"
"""A notice that comes when a machine is busy, and is none of what a statement says."""


@dataclass(frozen=True, slots=True)
class Block:
    """One statement, how it is run, and what is expected."""

    directive: str
    statement: str
    answer: str


def read(path: Path) -> tuple[Block, ...]:
    """The blocks of a script."""
    blocks = []
    for text in path.read_text().split("\n\n"):
        if text.strip():
            question, _, answer = text.strip("\n").partition("\n----")
            directive, _, statement = question.partition("\n")
            assert directive in ("run", "several", "view"), f"{path.name}: {directive}"
            blocks.append(Block(directive, statement, answer.strip("\n")))
    return tuple(blocks)


def write(path: Path, blocks: tuple[Block, ...]) -> None:
    """Record a script."""
    texts = (f"{block.directive}\n{block.statement}\n----\n{block.answer}\n" for block in blocks)
    path.write_text("\n".join(texts))


Send = Callable[[PGconn, bytes], None]


def simple(pgconn: PGconn, statement: bytes) -> None:
    """A Query message."""
    pgconn.send_query(statement)


def extended(pgconn: PGconn, statement: bytes) -> None:
    """Parse, Bind, Describe, Execute."""
    pgconn.send_query_params(statement, None)


def ask(pgconn: PGconn, statement: str, send: Send) -> str:
    """Everything that comes back for a statement, a line for each thing; notices first."""
    codec = _CODECS[(pgconn.parameter_status(b"client_encoding") or b"").decode()]
    notices: list[str] = []
    lines: list[str] = []

    def listen(notice: PGresult) -> None:
        lines = said("NOTICE", notice, statement, codec)
        if not lines[0].endswith(WAITING_FOR_A_PLAN):
            notices.extend(lines)

    pgconn.notice_handler = listen
    send(pgconn, statement.encode(codec))
    while (result := pgconn.get_result()) is not None:
        if result.status == pq.ExecStatus.COPY_IN:
            pgconn.put_copy_end()
        elif result.status == pq.ExecStatus.FATAL_ERROR:
            lines += said("ERROR", result, statement, codec)
        else:
            lines += rows(result, codec)
    pgconn.notice_handler = None
    return "\n".join((*notices, *lines))


def ask_as_view(pgconn: PGconn, statement: str) -> str:
    """What PostgreSQL says of the SELECT in a view, placed in the statement."""
    head, _, select = statement.partition("\n")
    answer = ask(pgconn, _VIEW + select, simple)
    lines = []
    for line in answer.split("\n"):
        if line.startswith("position "):
            place = int(line.split()[1].rstrip(":")) - len(_VIEW) + len(head) + 1
            lines.append(position(place, statement))
        else:
            lines.append(line.replace("CREATE VIEW", "CREATE STANDING QUERY"))
    return "\n".join(lines)


def said(kind: str, result: PGresult, statement: str, codec: str) -> list[str]:
    """An error or a notice."""

    def part(field: pq.DiagnosticField) -> str:
        return (result.error_field(field) or b"").decode(codec)

    lines = [f"{kind} {part(pq.DiagnosticField.SQLSTATE)} {part(pq.DiagnosticField.MESSAGE_PRIMARY)}"]
    if place := part(pq.DiagnosticField.STATEMENT_POSITION):
        lines.append(position(int(place), statement))
    for name, field in (
        ("detail", pq.DiagnosticField.MESSAGE_DETAIL),
        ("hint", pq.DiagnosticField.MESSAGE_HINT),
        ("context", pq.DiagnosticField.CONTEXT),
        ("inner query", pq.DiagnosticField.INTERNAL_QUERY),
    ):
        if text := part(field):
            lines.append(re.sub(r"line \d+", "a line", f"{name} {text}").replace("\n", "\\n"))
    return lines


def position(place: int, statement: str) -> str:
    """A position with what stands there."""
    there = statement[place - 1 : place - 1 + _SHOWN_BEHIND_A_POSITION].replace("\n", "\\n")
    return f"position {place}: {there}".rstrip()


def rows(result: PGresult, codec: str) -> list[str]:
    """Columns with the oids of their types, rows, and the tag."""
    lines = []
    if result.nfields:
        columns = ((result.fname(n) or b"", result.ftype(n)) for n in range(result.nfields))
        lines.append(" | ".join(f"{name.decode(codec)} {oid}" for name, oid in columns))
    for row in range(result.ntuples):
        values = (result.get_value(row, n) for n in range(result.nfields))
        lines.append(
            "  " + " | ".join("NULL" if v is None else v.decode(codec) for v in values).replace("\n", "\\n")
        )
    return [*lines, (result.command_status or b"").decode()]


def recorded(block: Block, answer: str) -> Block:
    """The block with another answer."""
    return replace(block, answer=answer)
