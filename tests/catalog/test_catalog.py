"""The schema `gavial`: installed once, upgraded, documented by its own comments (G12, G23)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import psycopg
import pytest

from catalog.install.refusals import REFUSALS
from coordinator.verify.choice import BEARABLE_COST
from dialect.binding.unbindable import UNBINDABLE
from dialect.statements.option_lists import EXPLAIN_FORMATS, EXPLAIN_OPTIONS
from dialect.statements.options import OPTIONS
from planner.algebra.refused import Refused
from tests.support.checkout import ROOT
from tests.support.recording import assert_as_recorded
from tests.support.running.servers import Gavial

DOCS: Final = ROOT / "docs"

RELATIONS: Final = """
    SELECT c.relname, obj_description(c.oid, 'pg_class'),
           array_agg(ARRAY[a.attname::text, format_type(a.atttypid, a.atttypmod),
                           col_description(c.oid, a.attnum)] ORDER BY a.attnum)
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE c.relnamespace = 'gavial'::regnamespace AND c.relkind IN ('r', 'v')
    GROUP BY c.oid, c.relname ORDER BY c.relname
"""
ROUTINES: Final = """
    SELECT p.oid::regprocedure::text, obj_description(p.oid, 'pg_proc'), p.prosecdef,
           p.proconfig::text LIKE '%search_path=%'
    FROM pg_proc p WHERE p.pronamespace = 'gavial'::regnamespace ORDER BY 1
"""
UNPINNED: Final = {
    "gavial.detect_transaction_block(boolean)",
    "gavial.perform(jsonb,text)",
    "gavial.perform_and_wait(jsonb,text)",
    "gavial.refresh(jsonb,text)",
    "gavial.wait(jsonb)",
    "gavial.explain(jsonb)",
    "gavial.settings_now(text)",
}
"""They run with the caller's rights and need the caller's search_path; everything in them is qualified."""


@pytest.fixture
def connection(gavial_embedded: Gavial) -> Iterator[psycopg.Connection]:
    with psycopg.connect(gavial_embedded.dsn(), autocommit=True) as connection:
        connection.execute("SHOW gavial.version")
        yield connection


def as_document(connection: psycopg.Connection) -> str:
    lines = [
        "# The catalog",
        "",
        "Made from the comments in the database (`REWRITE=1 pytest tests/catalog/test_catalog.py`).",
    ]
    for relation, comment, columns in connection.execute(RELATIONS):
        lines += [
            "",
            f"## gavial.{relation}",
            f"{comment}.",
            "",
            "| column | type | meaning |",
            "|---|---|---|",
        ]
        lines += [f"| `{name}` | {kind} | {meaning} |" for name, kind, meaning in columns]
    lines += ["", "## Functions", "| function | rights | what it does |", "|---|---|---|"]
    for signature, comment, definer, _pinned in connection.execute(ROUTINES):
        lines.append(f"| `{signature}` | {'its owner' if definer else 'caller'} | {comment} |")
    return "\n".join(lines) + "\n"


@pytest.mark.service
def test_the_documentation_is_what_the_comments_say(connection: psycopg.Connection) -> None:
    assert_as_recorded(DOCS / "catalog.md", as_document(connection))


@pytest.mark.service
def test_everything_has_a_comment(connection: psycopg.Connection) -> None:
    for relation, comment, columns in connection.execute(RELATIONS):
        assert comment, relation
        assert all(meaning for _name, _type, meaning in columns), relation
    for signature, comment, _definer, _pinned in connection.execute(ROUTINES):
        assert comment, signature


@pytest.mark.service
def test_every_function_pins_its_search_path(connection: psycopg.Connection) -> None:
    unpinned = {
        signature for signature, _comment, _definer, pinned in connection.execute(ROUTINES) if not pinned
    }
    assert unpinned == UNPINNED


@pytest.mark.service
def test_installing_is_idempotent_and_survives_racing_clients(gavial_embedded: Gavial) -> None:
    with psycopg.connect(gavial_embedded.dsn(), autocommit=True) as admin:
        admin.execute("DROP DATABASE IF EXISTS racing")
        admin.execute("CREATE DATABASE racing")
        clients = [psycopg.connect(gavial_embedded.dsn(dbname="racing"), autocommit=True) for _ in range(6)]
        for client in clients:
            client.pgconn.send_query(b"SHOW gavial.version")
        for client in clients:
            while (result := client.pgconn.get_result()) is not None:
                assert result.command_status == b"SHOW", result.error_message
            client.close()
        with psycopg.connect(gavial_embedded.dsn(dbname="racing")) as client:
            row = client.execute("SELECT count(*), count(DISTINCT number) FROM gavial.migrations").fetchone()
            assert row is not None
            assert row[0] == row[1] > 0
        admin.execute("DROP DATABASE racing")


EXPLAINED: Final = {
    "ANALYZE": "what a result took beside what was predicted: the trigger fires and the result is waited for",
    "VERBOSE": "the query after each phase of planning",
    "COSTS": "the work of runs; on unless it is switched off",
    "STATE": "what each part looks up by key, what of that is kept, and what other budgets would change",
    "SHARING": "nothing yet; a NOTICE says so",
    "CURVE": "what each goal costs ([goals.md](goals.md))",
}


def test_options_and_refusals_are_documented_as_they_are() -> None:
    lines = ["# Options", "", "| option | meaning | accepted | default |", "|---|---|---|---|"]
    lines += [
        f"| `{option.name}` | {option.meaning} | {option.accepted} | {option.default} |"
        for option in OPTIONS.values()
    ]
    lines += [
        "",
        "# What is refused",
        "",
        "All with SQLSTATE 0A000, at CREATE, at the place of the piece.",
        "",
    ]
    lines += ["| message | why | a way out |", "|---|---|---|"]
    lines += [
        f"| {refusal.message.replace('%s', '…')} | {refusal.reason} | {refusal.hint} |"
        for refusal in REFUSALS
    ]
    lines += [
        "",
        "What has no exact counterpart is refused in the same way: *cannot maintain a query with …*, such as",
        "",
        "| piece | a way out |",
        "|---|---|",
    ]
    named = (*UNBINDABLE.values(), *(refusal.value for refusal in Refused))
    pieces = {(piece.replace("%s", "…").replace("|", "\\|"), hint) for piece, hint in named}
    lines += sorted(f"| {piece} | {hint} |" for piece, hint in pieces)
    assert EXPLAINED.keys() == {*EXPLAIN_OPTIONS}
    lines += [
        "",
        "# What EXPLAIN shows",
        "",
        "`EXPLAIN [(option [on | off], …)] STANDING QUERY name`, or `CREATE STANDING QUERY …`, which is not",
        "made then. `FORMAT` is one of " + ", ".join(EXPLAIN_FORMATS) + ".",
        "",
        "| option | shows |",
        "|---|---|",
        *(f"| `{option}` | {shown} |" for option, shown in EXPLAINED.items()),
        "",
        "# What VERIFY compares with",
        "",
        "`VERIFY STANDING QUERY name [USING POSTGRES | SPARK]` gives the rows in which the result differs.",
        "A NOTICE says what it was compared with.",
        "",
        "| USING | compares with | finds | costs |",
        "|---|---|---|---|",
        "| POSTGRES | what PostgreSQL computes, at one snapshot | whatever is wrong | PostgreSQL's time; "
        "meanwhile a snapshot |",
        "| SPARK | what Gavial computes from scratch, from what was captured | what was computed wrongly "
        "from changes, or written by others | the time of a first result; no snapshot |",
        "",
        "Without USING it is POSTGRES where PostgreSQL's own EXPLAIN estimates a cost of at most "
        f"{BEARABLE_COST:,},",
        "which is about 100 seconds; else SPARK.",
    ]
    assert_as_recorded(DOCS / "options-and-refusals.md", "\n".join(lines) + "\n")
