"""Examples that once failed are tried first, in every checkout, and stay although they pass."""

from __future__ import annotations

import re

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.core import encode_failure
from hypothesis.database import InMemoryExampleDatabase

from tests.support.checkout import ROOT
from tests.support.kept_examples import KEPT, KeptExamples, add_lines_to_keep, kept_examples


def test_every_kept_example_is_of_a_test_that_is_there() -> None:
    for test in kept_examples(KEPT.read_text()):
        file, *_, function = test.split("::")
        name = function.partition("[")[0]
        text = (ROOT / file).read_text()
        assert re.search(rf"^def {name}\(|^ *{name} =", text, re.MULTILINE) or name == "runTest", test


def test_kept_examples_are_tried_each_time_although_they_pass(request: pytest.FixtureRequest) -> None:
    lines = f"# a comment\n{request.node.nodeid} {encode_failure([811]).decode()}\nanother_test AEEB\n"
    database = KeptExamples(kept_examples(lines), InMemoryExampleDatabase())
    tried: list[int] = []

    @settings(database=database, phases=[Phase.reuse])
    @given(st.integers(0, 1000))
    def test(number: int) -> None:
        tried.append(number)

    test()
    test()
    assert tried == [811, 811]


def test_a_failure_tells_the_line_that_keeps_it() -> None:
    text = "add @reproduce_failure('6.170', b'AXic=') as a decorator\n" * 2
    report = pytest.TestReport("tests/test_a.py::test_b[x]", ("", 0, ""), {}, "failed", text, "call")
    add_lines_to_keep(report)
    assert report.sections == [("To keep in tests/kept.examples", "tests/test_a.py::test_b[x] AXic=")]
