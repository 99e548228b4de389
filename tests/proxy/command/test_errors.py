from __future__ import annotations

from dataclasses import dataclass

import psycopg
import pytest

from catalog.errors import ConfigurationError
from proxy.command.output.errors import error_text, failure_text, place_text, told_text


@dataclass
class Said:
    severity: str = "ERROR"
    message_primary: str = "it is wrong"
    message_detail: str | None = None
    message_hint: str | None = None


def test_what_a_server_says_is_printed_as_psql_does() -> None:
    assert told_text(Said()) == "ERROR:  it is wrong"
    said = Said("NOTICE", "so it is", "More of it.", "Do this.")
    assert told_text(said) == "NOTICE:  so it is\nDETAIL:  More of it.\nHINT:  Do this."
    assert told_text(Said(message_hint="Do."), "LINE 1: x\n        ^").splitlines()[1] == "LINE 1: x"


@pytest.mark.parametrize(
    ("text", "position", "line"),
    [
        ("SELECT x", 8, "LINE 1: SELECT x\n               ^"),
        ("SELECT\n\tx\nFROM t", 9, "LINE 2:  x\n         ^"),
        ("SELECT", 7, "LINE 1: SELECT\n              ^"),
        ("SELECT", 8, ""),
        ("SELECT", 0, ""),
        ("SELECT", -3, ""),
        ("SELECT", None, ""),
    ],
)
def test_the_place_of_an_error_is_its_line_with_a_caret(text: str, position: int | None, line: str) -> None:
    assert place_text(text, position) == line


@pytest.mark.parametrize("position", range(1, 402))
def test_in_a_long_line_the_caret_is_below_the_place(position: int) -> None:
    text = "".join(chr(0x4E00 + number) for number in range(400))
    shown, caret = place_text(text, position).splitlines()
    assert len(shown) <= len("LINE 1: ......") + 60
    if position <= 400:
        assert shown[len(caret) - 1] == text[position - 1]


def test_what_is_no_servers_error_is_one_line() -> None:
    assert error_text(psycopg.OperationalError("the connection\nis lost")) == "gavial: the connection is lost"
    error = ConfigurationError("it cannot be", detail="Because.", hint="Do.")
    assert failure_text(error) == "gavial: it cannot be (Because. Do.)"
    assert failure_text(ConfigurationError("it cannot be")) == "gavial: it cannot be"
