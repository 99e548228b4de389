"""What a routine needs of the session that calls it, it sets for itself."""

from __future__ import annotations

import re

import pytest

from tests.support.checkout import ROOT

ROUTINES = ROOT / "catalog" / "routines"
FUNCTION = re.compile(r"CREATE OR REPLACE FUNCTION (\S+?)\(.*?\$body\$.*?\$body\$", re.S)
COMMENT = re.compile(r"^\s*--.*$", re.M)

FUNCTIONS = {
    found[1]: found[0]
    for path in sorted(ROUTINES.glob("*.sql"))
    for found in FUNCTION.finditer(path.read_text())
}


def test_there_are_routines() -> None:
    assert len(FUNCTIONS) > 100


@pytest.mark.parametrize(
    "name", sorted(name for name, text in FUNCTIONS.items() if "\\" in COMMENT.sub("", text))
)
def test_a_backslash_is_one_in_every_session(name: str) -> None:
    """Strings of a body are read under the caller's setting where the routine has none."""
    assert "SET standard_conforming_strings = on" in FUNCTIONS[name].partition("$body$")[0]
