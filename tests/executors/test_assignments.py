"""Whatever computes each run, and whatever serves each look-up: all write what the definition writes."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.answers.assignments import History, assigned, by_definition, histories, played
from tests.support.answers.drawn_look_ups import SERVICES
from tests.support.answers.mixed_engines import Engines

EXAMPLES = 60


def test_assignments_write_what_the_definition_writes(tmp_path_factory: pytest.TempPathFactory) -> None:
    counts: Counter[str] = Counter()

    @settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow])
    @given(history=histories(), seeds=st.lists(st.integers(0, 2**32), min_size=2, max_size=2))
    def play_one(history: History, seeds: list[int]) -> None:
        written = played(history, by_definition, tmp_path_factory.mktemp("definition"))
        for seed in seeds:
            with closing(Engines(None, Random(seed))) as engines:
                directory = tmp_path_factory.mktemp("assigned")
                assert played(history, assigned(engines), directory) == written
            counts.update(engines.counts)

    play_one()
    assert all(counts[served] for served in (*SERVICES, "DuckDB", "plain Python")), counts
