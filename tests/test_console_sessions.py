"""Sessions in documents are read and compared as they should be; `test_demonstration.py` runs them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.console_sessions import Exchange, exchanges, is_as_shown

SESSION = """
```console
$ psql "$(gavial url)"
gavial=> SELECT 1,
gavial->   2;
 a | b
---+---
 1 | 2
(1 row)

=> REFRESH STANDING QUERY q;
```
and another
```console
db=# SELECT 3;
```
"""


def test_statements_are_told_from_what_is_printed(tmp_path: Path) -> None:
    document = tmp_path / "document.md"
    document.write_text(SESSION)
    first, second, third = exchanges(document)
    assert first == Exchange("SELECT 1,\n  2;", (" a | b", "---+---", " 1 | 2", "(1 row)", ""))
    assert (second.statement, second.printed) == ("REFRESH STANDING QUERY q;", ())
    assert third.statement == "SELECT 3;"


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        (
            ["  a  |  b", "-----+-----", "  10 | 0/1F", "(1 row)"],
            [" a | b", "---+---", " 1 | A/2", "(1 row)"],
        ),
        ([" a", "---", " 1", "(1 row)"], [" a", "---", " 1", " 2", "(2 rows)"]),
        (["NOTICE:  computing the result", "CREATE STANDING QUERY"], ["CREATE STANDING QUERY"]),
        (["UPDATE 22"], ["UPDATE 7"]),
        (["...", " final 0.5: one", "..."], ["Plan", " final 1: one", " final 0.25: two"]),
        ([], ["anything"]),
    ],
)
def test_what_may_differ_does(shown: list[str], printed: list[str]) -> None:
    assert is_as_shown(shown, printed)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ([" a | b", "---+---", " 1 | 2"], [" a | c", "---+---", " 1 | 2"]),
        ([" a | b", "---+---", " 1 | 2"], [" a", "---", " 1"]),
        (["UPDATE 22"], ["DELETE 22"]),
        (["REFRESH STANDING QUERY"], []),
        ([" active"], [" active", " error"]),
        (["...", " final 0.5: one"], ["Plan", " final 1: two"]),
    ],
)
def test_what_has_to_be_the_same_is(shown: list[str], printed: list[str]) -> None:
    assert not is_as_shown(shown, printed)
