"""Brings Gavial up, and has `gavial demo` show that it works: TPC-H, three standing queries, changes."""

from __future__ import annotations

import argparse
import contextlib
import os
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from catalog.errors import Error
from coordinator.embedded.binaries import binaries_for, describe
from coordinator.embedded.cluster import major_version

PROGRAMS: Final = Path(sys.executable).parent
START_SECONDS: Final = 120
SMALLEST_SCALE: Final = 0.01
LARGEST_SCALE: Final = 100


class Failed(Exception):
    """The demonstration cannot go on; the message says why, in one line."""


def main() -> None:
    """Run the demonstration; what the user can mend is said in one line."""
    arguments = parse_arguments()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with contextlib.ExitStack() as stack:
            data = arguments.data or stack.enter_context(temporary_data())
            server = stack.enter_context(serving(data, arguments.port))
            demonstrate(data, arguments.scale)
            if not arguments.once:
                stay(server, data)
    except KeyboardInterrupt:
        sys.exit("run: interrupted")
    except (Failed, OSError) as error:
        sys.exit(f"run: {' '.join(str(error).split())}")
    except Error as error:
        sys.exit(f"run: {' '.join(filter(None, (error.message, error.detail, error.hint)))}")


def parse_arguments() -> argparse.Namespace:
    """Options; with --once a port and a directory of its own, so that nothing stays behind."""
    parser = argparse.ArgumentParser(prog="scripts/run", description=__doc__)
    parser.add_argument("--once", action="store_true", help="stop after the demonstration")
    parser.add_argument(
        "--data", type=Path, help="data directory (./gavial-data; with --once a temporary one)"
    )
    parser.add_argument("--port", type=int, help="port to listen on (5433; with --once any free one)")
    parser.add_argument(
        "--scale", type=scale_factor, default=0.01, help="scale factor of TPC-H (%(default)s)"
    )
    arguments = parser.parse_args()
    if arguments.port is None:
        arguments.port = 0 if arguments.once else 5433
    if arguments.data is None and not arguments.once:
        arguments.data = Path("gavial-data")
    return arguments


@contextlib.contextmanager
def temporary_data() -> Iterator[Path]:
    """A data directory that goes away again, with what lies outside where the server cannot reach in."""
    with tempfile.TemporaryDirectory(prefix="gavial-") as directory:
        os.chmod(directory, 0o711)
        data = Path(directory, "data")
        try:
            yield data
        finally:
            if (data / "postgres").is_symlink():
                shutil.rmtree((data / "postgres").resolve(), ignore_errors=True)


@contextlib.contextmanager
def serving(data: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """`gavial serve`, from the line that says it is ready until it has stopped."""
    server = subprocess.Popen(
        [PROGRAMS / "gavial", "serve", "--data", data, "--port", str(port)],
        stdout=subprocess.PIPE,
        bufsize=0,
    )
    try:
        wait_until_ready(server)
        yield server
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        server.terminate()
        status = server.wait()
    if status != 0:
        raise Failed(f"gavial serve ended with status {status}")


def wait_until_ready(server: subprocess.Popen[bytes]) -> None:
    """Pass on what it says until it is ready; where it ends instead, it has said why."""
    assert server.stdout is not None
    deadline = time.monotonic() + START_SECONDS
    while select.select([server.stdout], [], [], max(0.0, deadline - time.monotonic()))[0]:
        line = server.stdout.readline().decode()
        if not line:
            sys.exit(server.wait() or 1)
        print(line, end="", flush=True)
        if line.startswith("gavial: ready"):
            return
    raise Failed(f"gavial serve is not ready after {START_SECONDS} seconds")


def scale_factor(text: str) -> float:
    """A scale at which tpchgen gives every table rows with keys that differ."""
    scale = float(text)
    if not SMALLEST_SCALE <= scale <= LARGEST_SCALE:
        raise argparse.ArgumentTypeError(f"must be from {SMALLEST_SCALE} to {LARGEST_SCALE}")
    return scale


def demonstrate(data: Path, scale: float) -> None:
    """Have `gavial demo` load, create, change, refresh and verify; say what answered."""
    done = subprocess.run([PROGRAMS / "gavial", "demo", "--data", data, "--scale", str(scale)], check=False)
    if done.returncode != 0:
        raise Failed(f"gavial demo ended with status {done.returncode}")
    cluster = data / "postgres" / "cluster"
    say(f"PostgreSQL: {describe(binaries_for(cluster, major_version(cluster)))}")


def stay(server: subprocess.Popen[bytes], data: Path) -> None:
    """Until a signal, or until the server ends by itself."""
    url = shlex.join([str(PROGRAMS / "gavial"), "url", "--data", str(data)])
    with contextlib.suppress(KeyboardInterrupt):
        say(f'connect: psql "$({url})"; stop: Ctrl-C')
        server.wait()


def say(text: str) -> None:
    """One line of progress."""
    print(f"run: {text}", flush=True)


if __name__ == "__main__":
    main()
