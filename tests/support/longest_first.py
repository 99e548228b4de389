"""The order in which workers take files of tests: the longest first, so that they end at the same time.

`tests/seconds` says how long each takes. It is written from a run's report:

    scripts/test --junitxml=report.xml && python -m tests.support.longest_first report.xml
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from tests.support.checkout import ROOT

SECONDS: Final = ROOT / "tests" / "seconds"
SHORT: Final = 5
"""What takes less is not listed, and comes last."""


def seconds_of_files() -> Mapping[str, int]:
    """How long the tests of each file take, by its name."""
    lines = (line.split() for line in SECONDS.read_text().splitlines())
    return {name: int(seconds) for seconds, name in lines}


def write(report: Path) -> None:
    """Write down what a run took, by its report in JUnit's format."""
    found: Counter[str] = Counter()
    for case in ElementTree.parse(report).iter("testcase"):
        module = next(part for part in case.attrib["classname"].split(".") if part.startswith("test_"))
        found[f"{module}.py"] += float(case.attrib["time"])  # type: ignore[assignment]
    listed = [(round(seconds), name) for name, seconds in found.items() if seconds >= SHORT]
    ordered = sorted(listed, key=lambda line: (-line[0], line[1]))
    SECONDS.write_text("".join(f"{seconds:4} {name}\n" for seconds, name in ordered))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
