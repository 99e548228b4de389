"""Whatever computes each run, and whatever serves each look-up: all write what the definition writes."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.answers.assignments import History, assigned, by_definition, histories, played
from tests.support.answers.drawn_look_ups import SERVICES
from tests.support.answers.mixed_engines import Engines

EXAMPLES = 60
LEAST_SERVED = 5
"""So many look-ups at least are served in each way; there are thirty to sixty."""


def test_assignments_write_what_the_definition_writes(tmp_path_factory: pytest.TempPathFactory) -> None:
    counts: Counter[str] = Counter()

    @settings(max_examples=EXAMPLES)
    @given(history=histories(), seeds=st.lists(st.integers(0, 2**32), min_size=2, max_size=2))
    def play_one(history: History, seeds: list[int]) -> None:
        written = played(history, by_definition, tmp_path_factory.mktemp("definition"))
        for seed in seeds:
            with closing(Engines(None, Random(seed))) as engines:
                directory = tmp_path_factory.mktemp("assigned")
                assert played(history, assigned(engines), directory) == written
            counts.update(engines.counts)

    play_one()
    assert all(counts[service] >= LEAST_SERVED for service in SERVICES), counts
    assert min(counts["DuckDB"], counts["plain Python"]) > EXAMPLES, counts
