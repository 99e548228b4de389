"""Examples of hypothesis that once failed, which every run of the tests tries before it draws new ones.

Hypothesis stores failures under a hash of the test's source, and drops those that pass again, so its own
directory is of no use to others. The file has them under the test's name, and nothing drops them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Final

import pytest
from hypothesis.core import decode_failure
from hypothesis.database import ExampleDatabase, choices_to_bytes

from tests.support.checkout import ROOT

KEPT: Final = ROOT / "tests" / "kept.examples"
"""A test's name and an example on each line, in the form of hypothesis' reproduce_failure."""

_PRINTED: Final = re.compile(r"@reproduce_failure\('[^']+', b'([^']+)'\)")
_DERIVED_KEYS: Final = (b".secondary", b".pareto")


class KeptExamples(ExampleDatabase):
    """The examples kept for the test that is running, and after them what this checkout has found."""

    def __init__(self, kept: Mapping[str, Iterable[bytes]], found_here: ExampleDatabase) -> None:
        super().__init__()
        self._kept, self._found_here = kept, found_here

    def fetch(self, key: bytes) -> Iterable[bytes]:
        if not key.endswith(_DERIVED_KEYS):
            yield from self._kept.get(running_test(), ())
        yield from self._found_here.fetch(key)

    def save(self, key: bytes, value: bytes) -> None:
        self._found_here.save(key, value)

    def delete(self, key: bytes, value: bytes) -> None:
        """Forget what was found here and passes now; what is kept stays."""
        self._found_here.delete(key, value)


def running_test() -> str:
    """The name that pytest gives the test."""
    return os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]


def kept_examples(text: str) -> dict[str, list[bytes]]:
    """Each test's examples, as hypothesis stores them; lines that begin with # are comments."""
    kept: dict[str, list[bytes]] = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            test, _, example = line.rpartition(" ")
            kept.setdefault(test, []).append(choices_to_bytes(decode_failure(example.encode())))
    return kept


def add_lines_to_keep(report: pytest.TestReport) -> None:
    """Tell below a failure which lines keep its examples."""
    lines = [f"{report.nodeid} {example}" for example in dict.fromkeys(_PRINTED.findall(report.longreprtext))]
    if report.failed and lines:
        report.sections.append((f"To keep in {KEPT.relative_to(ROOT)}", "\n".join(lines)))
