"""Starts the Java process of Spark, and ends one that does not get as far as being of use."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from py4j.java_gateway import JavaGateway
from pyspark import SparkConf
from pyspark.find_spark_home import _find_spark_home
from pyspark.java_gateway import launch_gateway

from catalog.errors import ConfigurationError
from executors.spark.environment import environment

START_SECONDS: Final = 60.0
"""How long Java may take to start: it takes a second or two, on a busy machine many times that."""

_LOOK_SECONDS: Final = 0.05
_SAID_LINES: Final = 3
_NOTHING_NEW: Final = ("WARNING:", "Using ", "Picked up ", "at ", "SLF4J")
"""Beginnings of lines that Java writes in any case."""


def launch(
    conf: SparkConf, log: Path, go_on: Callable[[], bool] = lambda: True, seconds: float = START_SECONDS
) -> JavaGateway:
    """A process of Spark with these settings, and the connection to it; what it says goes to the log.

    One that has not answered after so many seconds is killed, and so is one that nobody wants any more.
    PySpark's own way waits for ever, also for a process that has ended well.
    """
    with tempfile.TemporaryDirectory() as directory, log.open("wb") as output:
        address = Path(directory, "gateway")
        variables = {"SPARK_CONNECT_MODE": "0", "_PYSPARK_DRIVER_CONN_INFO_PATH": str(address)}
        process = subprocess.Popen(
            _command(conf),
            stdin=subprocess.PIPE,  # its end tells Java that we are gone
            stdout=output,
            stderr=output,
            env={**os.environ, **variables},
            start_new_session=True,
        )
        try:
            _wait_for(address, process, conf, log, go_on, seconds)
            gateway = _connected(process, address.read_bytes())
        except BaseException:
            kill(process)
            raise
    return gateway


def kill(process: subprocess.Popen[bytes]) -> None:
    """End a process and all that it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdin is not None:
        process.stdin.close()


def refusal(conf: SparkConf, log: Path, why: str | None = None) -> ConfigurationError:
    """Why Spark does not start, by default in its own words."""
    return ConfigurationError(
        f"Spark does not start on {conf.get('spark.master')}",
        detail=why or _said(log),
        hint=f"What it says is in {log}. It is tried again by itself.",
    )


def _command(conf: SparkConf) -> list[str]:
    settings = [word for name, value in conf.getAll() for word in ("--conf", f"{name}={value}")]
    home = _find_spark_home()
    return [f"{home}/bin/spark-submit", *settings, *shlex.split("pyspark-shell")]


def _wait_for(
    address: Path,
    process: subprocess.Popen[bytes],
    conf: SparkConf,
    log: Path,
    go_on: Callable[[], bool],
    seconds: float,
) -> None:
    """Wait until the process has said where it listens, which it does at once or not at all."""
    end = time.monotonic() + seconds
    while not address.exists():
        if process.poll() is not None:
            raise refusal(conf, log)
        if not go_on():
            raise refusal(conf, log, "Nobody waits for it any more.")
        if time.monotonic() > end:
            raise refusal(conf, log, f"Java has not answered within {seconds:.0f} seconds, and was ended.")
        time.sleep(_LOOK_SECONDS)


def _connected(process: subprocess.Popen[bytes], address: bytes) -> JavaGateway:
    """What Java tells is its port, then the length of its secret and the secret."""
    port, length = struct.unpack("!ii", address[:8])
    secret = address[8 : 8 + length].decode()
    with environment({"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}):
        gateway = launch_gateway()  # type: ignore[no-untyped-call]
    gateway.proc = process
    return gateway


def _said(log: Path) -> str | None:
    """The last lines of a log that tell something."""
    lines = (line.strip() for line in log.read_text(errors="replace").splitlines())
    telling = [line for line in lines if line and not line.startswith(_NOTHING_NEW)]
    return "; ".join(telling[-_SAID_LINES:]) or None
