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
    """How long the tests of each file take, by its path below `tests`."""
    lines = (line.split() for line in SECONDS.read_text().splitlines())
    return {name: int(seconds) for seconds, name in lines}


def seconds_of(seconds: Mapping[str, int], file: Path) -> int:
    """How long the tests of a file take; 0 where that is little."""
    return seconds.get(file.relative_to(SECONDS.parent).as_posix(), 0)


def write(report: Path) -> None:
    """Write down what a run took, by its report in JUnit's format."""
    found: Counter[str] = Counter()
    for case in ElementTree.parse(report).iter("testcase"):
        parts = case.attrib["classname"].split(".")
        module = next(place for place, part in enumerate(parts) if part.startswith("test_"))
        file = "/".join(parts[1 : module + 1]) + ".py"
        found[file] += float(case.attrib["time"])  # type: ignore[assignment]
    listed = [(round(seconds), name) for name, seconds in found.items() if seconds >= SHORT]
    ordered = sorted(listed, key=lambda line: (-line[0], line[1]))
    SECONDS.write_text("".join(f"{seconds:4} {name}\n" for seconds, name in ordered))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
