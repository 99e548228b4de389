"""Makes Spark sessions, alone; whatever is done with one works on classic Spark and on Spark Connect."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from catalog.errors import ConfigurationError
from executors.java import require_java, spark_home_of
from executors.machine import default_memory
from executors.spark.environment import environment
from executors.spark.failures import first_line
from executors.spark.launch import launch, refusal

LOOPBACK = "127.0.0.1"
MOST_COLLECTED = 64 << 20
GIVEN_BACK_SECONDS = 120
STOP_SECONDS = 30
END_SECONDS = 1

EVERY_PROCESSOR = "local[*]"

# Variables of another Spark on this machine, which would be started in place of ours.
FOREIGN = ("SPARK_HOME", "SPARK_REMOTE")

BROKEN = (Py4JError, PySparkException, OSError, EOFError, pa.ArrowException)
"""What a statement may end with when the process of Spark has ended."""

# The heap begins small, and holds little that is free after a full collection.
HEAP = "-Xms64m -XX:MinHeapFreeRatio=10 -XX:MaxHeapFreeRatio=20 -XX:-ShrinkHeapInSteps"

# Results must not depend on where Spark runs: overflow raises, decimals keep their digits, times are UTC.
MEANING = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.session.timeZone": "UTC",
    # Filters on files are of dates as they are counted: Java's older dates have none that are infinite.
    "spark.sql.datetime.java8API.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # As all other files have them; Spark's own choice is a form that no other program writes any more.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # What is nested in lambdas is resolved from the outside in, a level or two each time.
    "spark.sql.analyzer.maxIterations": "1000",
}


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """Where Spark runs, and the directory that is its own for logs and temporary files.

    `memory` is what the driver may use in bytes; None: a part of what the machine has.
    """

    directory: Path
    master: str = "local[*]"
    remote: str | None = None
    memory: int | None = None

    @property
    def local(self) -> bool:
        """Whether Spark's tasks run in the driver's process."""
        return self.remote is None and self.master.startswith("local")


def open_session(settings: SparkSettings, go_on: Callable[[], bool] = lambda: True) -> SparkSession:
    """A session with Gavial's settings; one at a time in a process, one at a time in a directory.

    `go_on` is asked while Java starts.
    """
    silence_query_errors()
    if settings.remote is not None:
        return open_remote_session(settings.remote)
    settings = replace(settings, directory=settings.directory.absolute())
    settings.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    scratch = settings.directory / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(mode=0o700)
    conf = SparkConf(loadDefaults=False)
    for name, value in (MEANING | driver_options(settings, scratch)).items():
        conf.set(name, value)
    home = spark_home_of(require_java(os.environ), settings.directory / "java")
    variables = {"JAVA_HOME": str(home), "PYSPARK_PYTHON": sys.executable, **dict.fromkeys(FOREIGN)}
    if settings.local:
        variables["SPARK_LOCAL_IP"] = LOOPBACK
    with environment(variables):
        return start_session(conf, settings.directory / "driver.log", go_on)


def close_session(session: SparkSession) -> None:
    """Stop a session, and the Java process it had, if it had one."""
    gateway = SparkContext._gateway
    session.stop()
    if gateway is not None:
        stop_driver(gateway)


def has_driver(seconds: float = END_SECONDS) -> bool:
    """Whether the Java process of the session still runs, also after so long.

    That of a Spark Connect server is not ours.
    """
    gateway = SparkContext._gateway
    if gateway is None:
        return True
    with contextlib.suppress(subprocess.TimeoutExpired):
        gateway.proc.wait(seconds)
        return False
    return True


def forget_session() -> None:
    """The Java process has ended: the next session begins another one."""
    gateway, SparkContext._gateway = SparkContext._gateway, None
    SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None
    if gateway is not None:
        gateway.proc.stdin.close()
        gateway.close()


def open_remote_session(remote: str, *, is_another: bool = False) -> SparkSession:
    """A session on a Spark Connect server; `is_another`: beside the one that there is."""
    try:
        builder = SparkSession.builder.remote(remote)
        for name, value in MEANING.items():
            builder = builder.config(name, value)
        return builder.create() if is_another else builder.getOrCreate()
    except ImportError as error:
        raise ConfigurationError(
            "Spark Connect needs more Python packages",
            detail=str(error),
            hint="pip install 'gavial[connect]'",
        ) from error


def driver_options(settings: SparkSettings, scratch: Path) -> dict[str, str]:
    """Options of a driver that we start: silent, no web interface, no file outside its directory."""
    memory, processors = settings.memory or default_memory(), os.cpu_count() or 1
    options = {
        "spark.master": f"local[{processors + 1}]" if settings.master == EVERY_PROCESSOR else settings.master,
        "spark.app.name": "gavial",
        "spark.driver.memory": f"{memory >> 20}m",
        # What is more is written into files by the tasks, and does not pass through the driver.
        "spark.driver.maxResultSize": f"{MOST_COLLECTED >> 20}m",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(settings.directory / "warehouse"),
        # What is done beside gets its share of the tasks, and what is short does not wait for it.
        "spark.scheduler.mode": "FAIR",
        "spark.driver.extraJavaOptions": f'-Djava.io.tmpdir="{scratch}" {HEAP}',
        # A full collection now and then is what gives memory back: a concurrent one leaves large arrays.
        "spark.cleaner.periodicGC.interval": f"{GIVEN_BACK_SECONDS}s",
        # What a firing is compiled to is there for the next one: one query of TPC-H has up to forty classes.
        "spark.sql.codegen.cache.maxEntries": "2000",
    }
    if settings.local:
        options |= {
            "spark.driver.bindAddress": LOOPBACK,
            "spark.driver.host": LOOPBACK,
            # The loopback interface is not ours alone: a machine has other users.
            "spark.authenticate": "true",
            # A job's fixed costs rule at this size: few partitions, no re-planning between stages. The one
            # task more than there are processors is for what is short, beside few tasks that take long.
            "spark.default.parallelism": str(processors),
            "spark.sql.shuffle.partitions": str(min(4, processors)),
            "spark.sql.adaptive.enabled": "false",
        }
    return options


def silence_query_errors() -> None:
    """Keep PySpark from printing an error that is raised as well: its text may hold values of rows.

    Py4J logs, with a traceback, that the process of Spark has ended, under no name of its own.
    """
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True
    logging.getLogger().addFilter(_is_not_of_py4j)


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in Path(record.pathname).parts


def start_session(conf: SparkConf, log: Path, go_on: Callable[[], bool]) -> SparkSession:
    """Start a Java process and a session in it; what the process says goes to the log."""
    gateway = launch(conf, log, go_on)
    try:
        SparkContext(conf=conf, gateway=gateway)
        return SparkSession.builder.config(conf=conf).getOrCreate()
    except Py4JError as error:
        stop_driver(gateway)
        raise refusal(conf, log, first_line(error)) from error


def stop_driver(gateway: JavaGateway) -> None:
    """End the Java process, which PySpark would keep for a next session with this one's files and options."""
    if SparkContext._active_spark_context is not None:
        SparkContext._active_spark_context.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(STOP_SECONDS)
    SparkContext._gateway = SparkContext._jvm = None
