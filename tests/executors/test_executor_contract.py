"""The same firings in plain Python, on Spark in each of its places, and in the process where possible."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.checkout import ROOT
from tests.support.running.spark_servers import cluster, connect_server

pytestmark = pytest.mark.service

DEADLINE_SECONDS = 900
CASES = 16
ALL, OF_SPARK = (
    ("tests/executors/contract_firings.py",),
    ("tests/executors/contract_firings.py", "tests/executors/contract_spark.py"),
)
MORE_OF_SPARK = 2


def run(place: str, directory: Path, suites: tuple[str, ...] = OF_SPARK) -> None:
    """All of the contract in a process of its own: there is one Spark in a process."""
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *suites],
        cwd=ROOT,
        env=os.environ
        | {"GAVIAL_TEST_EXECUTOR": place, "SPARK_LOCAL_IP": "127.0.0.1", "TMPDIR": str(directory)},
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout[-20_000:] + ended.stderr[-5_000:]
    cases = CASES + (MORE_OF_SPARK if suites == OF_SPARK else 0)
    assert f"{cases} passed" in ended.stdout, ended.stdout


def test_by_definition(tmp_path: Path) -> None:
    run("reference", tmp_path, ALL)


def test_in_this_process(tmp_path: Path) -> None:
    run("local[2,4]", tmp_path)


def test_in_this_process_where_that_is_possible(tmp_path: Path) -> None:
    run("auto local[2,4]", tmp_path, ALL)


def test_on_a_cluster_of_two_workers(tmp_path: Path) -> None:
    with cluster(tmp_path / "cluster") as address:
        run(address, tmp_path)


def test_over_spark_connect(tmp_path: Path) -> None:
    with connect_server(tmp_path / "server") as address:
        run(address, tmp_path)
