"""What a document names of the code: files, and what is defined in them.

A name in backticks belongs to the file that was named before it. `gavial.x` behind a file of SQL is defined
there, behind any other one in some file of SQL. Options of standing queries belong to no file.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from dialect.statements.options import OPTIONS
from tests.support.checkout import ROOT

_SPAN: Final = re.compile(r"`([^`\n]+)`")
_FILE: Final = re.compile(r"[\w./]+\.(?:py|sql|toml)")
_NAME: Final = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")
_SQL: Final = re.compile(r"CREATE (?:OR REPLACE )?(?:FUNCTION|PROCEDURE|TABLE|VIEW) (gavial\.\w+)")


def missing(text: str) -> list[str]:
    """The names in a text that nothing bears, each with the file in which it was looked for."""
    return [
        f"{name} in {file.relative_to(ROOT)}"
        for name, file in _named(_without_pictures(text))
        if not _is_defined(name, file)
    ]


def _named(text: str) -> Iterator[tuple[str, Path]]:
    file: Path | None = None
    for span in _SPAN.findall(text):
        if _FILE.fullmatch(span):
            file = ROOT / span
            assert file.is_file(), f"{span} is not there"
        elif _NAME.fullmatch(span) and span != "gavial" and span not in OPTIONS:
            assert file is not None, f"{span} is named before any file"
            yield span, file


def _without_pictures(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def _is_defined(name: str, file: Path) -> bool:
    if not name.startswith("gavial."):
        return name in _defined(file)
    files = (file,) if file.suffix == ".sql" else (ROOT / "catalog").rglob("*.sql")
    return any(name in _SQL.findall(file.read_text()) for file in files)


@cache
def _defined(module: Path) -> frozenset[str]:
    """Classes, their methods, functions and constants of a module."""
    return frozenset(_names(ast.parse(module.read_text()).body, ""))


def _names(body: list[ast.stmt], prefix: str) -> Iterator[str]:
    for statement in body:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield prefix + name
            case ast.ClassDef(name=name, body=inside):
                yield prefix + name
                yield from _names(inside, f"{prefix}{name}.")
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                yield prefix + name
            case _:
                pass
