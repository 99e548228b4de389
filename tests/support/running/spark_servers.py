"""Spark elsewhere: a cluster of two workers, and a Spark Connect server; both end with their context."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

from executors.java import require_java, spark_home_of
from tests.support.running.servers import wait_until

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
DEPLOY = "org.apache.spark.deploy"
CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"
START_SECONDS = 120


@contextmanager
def cluster(directory: Path, workers: int = 2) -> Iterator[str]:
    """The address of a master whose workers have a core each."""
    with ExitStack() as stack:
        master = (f"{DEPLOY}.master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        log = stack.enter_context(_running(directory / "master", *master))
        address = _said(log, r"Starting Spark master at (spark://\S+)")
        for number in range(workers):
            home = directory / f"worker{number}"
            worker = (f"{DEPLOY}.worker.Worker", "--host", "127.0.0.1", "-c", "1", "-m", "1g")
            place = ("--webui-port", "0", "-d", str(home), address)
            _said(stack.enter_context(_running(home, *worker, *place)), r"Successfully (registered) with")
        yield address


@contextmanager
def connect_server(directory: Path) -> Iterator[str]:
    """The address of a server for whoever connects, with two cores."""
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.local.dir": str(directory),
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
    }
    options = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    command = (f"{DEPLOY}.SparkSubmit", "--class", CONNECT, "--master", "local[2,4]", *options)
    with _running(directory, *command, "spark-internal") as log:
        port = _said(log, r"Spark Connect server started at: \S+:(\d+)")
        yield f"sc://127.0.0.1:{port}"


@contextmanager
def _running(directory: Path, *arguments: str) -> Iterator[Path]:
    """A Java process of Spark's own, in a group of its own with what it starts."""
    directory.mkdir(parents=True, exist_ok=True)
    log = directory / "log"
    home = spark_home_of(require_java(os.environ), directory / "java")
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("SPARK_")},
        "JAVA_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    with log.open("wb") as output:
        process = subprocess.Popen(
            [SPARK_CLASS, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=environment,
            cwd=directory,
            start_new_session=True,
        )
    try:
        yield log
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _said(log: Path, words: str) -> str:
    """What a process says once it has begun."""

    def said() -> re.Match[str] | None:
        return re.search(words, log.read_text(errors="replace"))

    wait_until(lambda: said() is not None, f"{log} does not say {words}", START_SECONDS)
    found = said()
    assert found is not None
    return found[1]
