"""What is known of how long tests take is of files that are there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import longest_first
from tests.support.longest_first import SECONDS, seconds_of_files, write

REPORT = """<testsuites><testsuite>
<testcase classname="tests.test_a" name="one" time="3.4" />
<testcase classname="tests.test_a" name="two" time="2.3" />
<testcase classname="tests.deeper.test_b.TestClass" name="one" time="71" />
<testcase classname="tests.test_c" name="one" time="1" />
</testsuite></testsuites>"""


def test_every_file_is_there() -> None:
    assert [name for name in seconds_of_files() if not (SECONDS.parent / name).is_file()] == []


def test_a_report_is_written_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(longest_first, "SECONDS", tmp_path / "seconds")
    (tmp_path / "report").write_text(REPORT)
    write(tmp_path / "report")
    assert list(seconds_of_files().items()) == [("deeper/test_b.py", 71), ("test_a.py", 6)]
