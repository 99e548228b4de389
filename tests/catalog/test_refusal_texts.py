"""Refusals in the words of PostgreSQL's documentation: every text in the code, and those of real queries."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from sqlglot import exp

from catalog.errors import Error
from catalog.install.refusals import REFUSALS
from catalog.postgres import types
from catalog.postgres.storage import PLAIN
from dialect.binding.bind import bind
from dialect.binding.canonical_text import read_query
from dialect.binding.unbindable import UNBINDABLE
from planner.algebra.refused import Refused
from tests.support.binding.cases import FOLDER, Recorded, read_snapshot, recorded
from tests.support.checkout import ROOT

RAISED_BY: Final = frozenset(("refused", "unsupported", "FeatureNotSupported", "NotMaintainable"))
CLASSES: Final = frozenset(name for name in vars(exp) if name[0].isupper() and re.search("[a-z][A-Z]", name))
OURS: Final = re.compile(r"\b(sqlglot|pglast|oid|canonical|node|bound tree|Var|[Tt]ype \d+)\b")
HINTLESS: Final = {
    "only a SELECT can be maintained": "there is nothing else to write",
    "two explicit collations in one expression": "PostgreSQL refuses it first",
}


def texts(path: Path) -> Iterator[tuple[str, str]]:
    """The texts of the refusals of a file, values in them as {}, each with its place."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in RAISED_BY:
            for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
                text = written(argument)
                if text is not None:
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", text


def written(node: ast.expr) -> str | None:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(written(value) or "{}" for value in values)
    return None


FILES: Final = sorted(
    path for folder in ("dialect", "planner", "executors") for path in (ROOT / folder).rglob("*.py")
)


def fault(text: str) -> str | None:
    """What a database administrator would not understand, or PostgreSQL would not write."""
    words = set(re.findall(r"\w+", text))
    if words & CLASSES:
        return f"the name of a class: {words & CLASSES}"
    if found := OURS.search(text):
        return f"a word of ours: {found[0]}"
    return None


def fault_of_message(message: str) -> str | None:
    """The same, and the form of a message."""
    return "it ends like a sentence" if message.endswith(".") else fault(message)


def fault_of_hint(hint: str | None) -> str | None:
    """The same, and the form of a hint."""
    if hint is None:
        return "there is no way out"
    return None if hint[0].isupper() and hint.endswith(".") else "it is no sentence"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_texts_in_the_code(path: Path) -> None:
    assert [(place, text, found) for place, text in texts(path) if (found := fault(text))] == []


def test_every_rule_has_a_way_out() -> None:
    pairs = [*UNBINDABLE.values(), *(refusal.value for refusal in Refused)]
    pairs += [(refusal.message, refusal.hint) for refusal in REFUSALS]
    assert [what for what, hint in pairs if fault_of_message(what) or fault_of_hint(hint)] == []


SNAPSHOT: Final = read_snapshot()
CASES: Final = recorded(FOLDER / "refused.sql")


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(case.canonical.split())[:60])
def test_recorded_refusals(case: Recorded) -> None:
    with pytest.raises(Error) as caught:
        bind(case.canonical, SNAPSHOT.tables, SNAPSHOT.signatures, case.columns)
    assert fault_of_message(caught.value.message) is None
    assert caught.value.message in HINTLESS or fault_of_hint(caught.value.hint) is None
    assert caught.value.detail is None or fault(caught.value.detail) is None


UNREAD: Final = {
    "SELECT XMLELEMENT(NAME foo, t.c) AS v FROM public.t": "XMLELEMENT",
    "SELECT XMLFOREST(t.c AS c) AS v FROM public.t": "XMLFOREST",
    "SELECT XMLPARSE(DOCUMENT t.c STRIP WHITESPACE) AS v FROM public.t": "XMLPARSE",
    "SELECT (t.x IS DOCUMENT) AS v FROM public.t": "IS DOCUMENT",
    "SELECT y.b FROM XMLTABLE(('/a'::text) PASSING (t.x) COLUMNS b integer PATH ('b'::text)) y": "XMLTABLE",
    "SELECT (t.c IS NORMALIZED) AS v FROM public.t": "IS NORMALIZED",
    "SELECT (t.c ^@ 'a'::text) AS v FROM public.t": "the operator ^@",
    """SELECT ('101'::"bit" & t.b) AS v FROM public.t""": "the type bit",
    "SELECT u.id FROM (public.t JOIN public.s USING (id) AS u)": "an alias of JOIN USING",
}


@pytest.mark.parametrize("text", UNREAD)
def test_what_is_not_read_is_named(text: str) -> None:
    with pytest.raises(Error) as caught:
        read_query(text)
    assert caught.value.message == f"cannot maintain a query with {UNREAD[text]}"
    assert fault_of_hint(caught.value.hint) is None


def test_what_has_no_name_is_shown() -> None:
    text = """SELECT SUBSTRING(t.c SIMILAR 'a#"b#"c'::text ESCAPE '#'::text) AS v FROM public.t"""
    with pytest.raises(Error) as caught:
        read_query(text)
    assert "SIMILAR" in str(caught.value.detail)
    assert fault(str(caught.value.detail)) is None


def test_types_that_queries_may_have_are_those_that_are_stored() -> None:
    """CREATE refuses the others by name before anything is planned; the constants are called as the types."""
    routine = (ROOT / "catalog" / "routines" / "30_refusals.sql").read_text()
    body = re.search(r"FUNCTION gavial\.type_is_exact.*?t\.oid = ANY \(ARRAY\[(.*?)\]", routine, re.DOTALL)
    assert body is not None
    names = re.findall(r"'(\w+)'", body[1])
    maintained = {*PLAIN, types.NUMERIC, types.BPCHAR} - {types.OID, types.CHAR}  # these are only stored
    assert len(names) == len(set(names))
    assert {getattr(types, name.upper()) for name in names} == maintained
