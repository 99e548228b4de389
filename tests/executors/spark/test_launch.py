"""Processes of Java that do not start, that end at once, and that hang: each is told, and none is left."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from pyspark import SparkConf

from catalog.errors import ConfigurationError
from executors import java
from executors.java import Java, Refusal, examine, require_start
from executors.spark.launch import launch
from tests.support.running.servers import processes_below, wait_until

CHILD = "sleep 600 & wait"


def program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\ncd {path.parent}\n{script}\n")
    path.chmod(0o755)
    return path


def refused(home: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> ConfigurationError:
    """How launching ends where this is what starts Spark."""
    program(home / "bin" / "spark-submit", script)
    monkeypatch.setenv("SPARK_HOME", str(home))
    conf = SparkConf(loadDefaults=False).set("spark.master", "local[2]")
    with pytest.raises(ConfigurationError) as caught:
        launch(conf, home / "driver.log", seconds=0.5)
    wait_until(lambda: not processes_below(home), "a process is left")
    return caught.value


@pytest.mark.parametrize("status", [0, 1])
def test_who_ends_at_once_is_told_in_its_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    said = "echo 'Picked up JAVA_TOOL_OPTIONS: x'; echo 'Unrecognized option' >&2; echo; echo 'Error: no' >&2"
    error = refused(tmp_path, monkeypatch, f"{said}; exit {status}")
    assert error.message == "Spark does not start on local[2]"
    assert error.detail == "Unrecognized option; Error: no"
    assert f"{tmp_path}/driver.log" in (error.hint or "")


def test_who_hangs_is_ended_with_its_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    error = refused(tmp_path, monkeypatch, CHILD)
    assert error.detail == "Java has not answered within 0 seconds, and was ended."


def test_a_launch_that_nobody_wants_any_more_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "bin" / "spark-submit", CHILD)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    conf = SparkConf(loadDefaults=False).set("spark.master", "local[2]")
    began = time.monotonic()
    with pytest.raises(ConfigurationError, match="does not start"):
        launch(conf, tmp_path / "driver.log", lambda: time.monotonic() < began + 0.2)
    wait_until(lambda: not processes_below(tmp_path), "a process is left")


def test_a_java_that_hangs_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "ANSWER_SECONDS", 0.3)
    hanging = program(tmp_path / "bin" / "java", CHILD)
    assert examine("JAVA_HOME", hanging) == Refusal(
        "JAVA_HOME", f"{hanging} has not answered within 0 seconds"
    )
    found = Java(tmp_path, "21", "JAVA_HOME", has_vector_module=True)
    with pytest.raises(ConfigurationError, match="does not start with -Xmx512m") as caught:
        require_start(found, 512 << 20)
    assert "has not answered" in (caught.value.detail or "")
    wait_until(lambda: not processes_below(tmp_path), "a process is left")
