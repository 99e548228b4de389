"""Makes `.venv` from one lock file and installs the checkout into it; run by `scripts/setup`."""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"
STAMPS = ENVIRONMENT / "stamps"
BUILD_LOCK = "requirements-build.lock"

GIGABYTE = 10**9
ENVIRONMENT_BYTES = 3 * GIGABYTE // 2
TEMPORARY_BYTES = 2 * GIGABYTE

UNREACHABLE = (
    "Failed to establish a new connection|name resolution|Connection (?:refused|reset)|Network is unreachable"
    "|ConnectTimeout|ReadTimeout|ProxyError|SSLError|CERTIFICATE_VERIFY_FAILED"
)
CAUSES = (
    ("No space left on device", "the disk is full"),
    ("DO NOT MATCH THE HASHES", "a package differs from what the lock file promises"),
    (UNREACHABLE, "the package registry cannot be reached"),
    (r"No matching distribution found for (\S+)", "the registry has no {} for this Python and machine"),
)


class SetupError(Exception):
    """Something is missing; the message says what, in one line."""


def main() -> None:
    """Make the environment, unless the one there is made from the same things."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lock", help="the lock file, such as requirements.lock")
    lock = parser.parse_args().lock
    try:
        wait_for_other_runs()
        provide(lock)
    except SetupError as error:
        sys.exit(f"setup: {error}")
    except OSError as error:
        sys.exit(f"setup: {error.filename or ENVIRONMENT}: {error.strerror}")
    except KeyboardInterrupt:
        sys.exit("setup: interrupted; the next run starts again")


def wait_for_other_runs() -> None:
    """One run at a time in a checkout: the lock is held until this process and what it started have ended."""
    checkout = os.open(ROOT, os.O_RDONLY)
    os.set_inheritable(checkout, True)
    try:
        fcntl.flock(checkout, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say("waiting for another run of scripts/setup")
        fcntl.flock(checkout, fcntl.LOCK_EX)


def provide(lock: str) -> None:
    """Leave an environment that holds what `lock` names, and the checkout."""
    if stamp(lock) != fingerprint(lock):
        provide_packages(lock)
    checkout = digest("pyproject.toml")
    if stamp("checkout") != checkout:
        install("the checkout", "--no-build-isolation", "--no-index", "--no-deps", "--editable", str(ROOT))
        (STAMPS / "checkout").write_text(checkout)


def provide_packages(lock: str) -> None:
    """Install what `lock` names: over an environment it extends, otherwise into an empty one."""
    check_disk()
    base = fingerprint("requirements.lock")
    extends = stamp("requirements.lock") == base and stamp(lock) is None
    stamps = {path.name: path.read_text() for path in STAMPS.iterdir()} if extends else {}
    shutil.rmtree(STAMPS, ignore_errors=True)
    if not extends:
        make_environment()
    install(f"packages of {lock}", "--no-build-isolation", "--require-hashes", "-r", str(ROOT / lock))
    STAMPS.mkdir()
    for name, value in (stamps | {"requirements.lock": base, lock: fingerprint(lock)}).items():
        (STAMPS / name).write_text(value)


def fingerprint(lock: str) -> str:
    """What an environment made from `lock` depends on."""
    return "\n".join((str(python()), sys.version, str(ROOT), digest(BUILD_LOCK), digest(lock)))


def digest(name: str) -> str:
    """The content of a file of the checkout, in short."""
    return hashlib.sha256((ROOT / name).read_bytes()).hexdigest()


def stamp(name: str) -> str | None:
    """What the last run that came to its end left under this name."""
    path = STAMPS / name
    return path.read_text() if path.exists() else None


def python() -> Path:
    """The interpreter itself, also where a virtual environment's was called."""
    return Path(sys.executable).resolve()


def check_disk() -> None:
    """Refuse at once what would fail after minutes."""
    for directory, needed in ((ROOT, ENVIRONMENT_BYTES), (Path(tempfile.gettempdir()), TEMPORARY_BYTES)):
        free = shutil.disk_usage(directory).free
        if free < needed:
            raise SetupError(
                f"{directory} has {gigabytes(free)} of free disk, {gigabytes(needed)} are needed"
            )


def gigabytes(size: int) -> str:
    """A size to read."""
    return f"{size / GIGABYTE:.1f} GB"


def make_environment() -> None:
    """An empty environment, with what builds packages in it."""
    say(f"making .venv with Python {sys.version.split()[0]} ({python()})")
    made = subprocess.run(
        [python(), "-I", "-m", "venv", "--clear", ENVIRONMENT], capture_output=True, text=True, check=False
    )
    if made.returncode != 0:
        raise SetupError(f"cannot make {ENVIRONMENT}: {cause(made.stdout + made.stderr)}")
    install("build tools", "--only-binary", ":all:", "--require-hashes", "-r", str(ROOT / BUILD_LOCK))


def install(what: str, *arguments: str) -> None:
    """Have pip install something; what pip said is in .venv/setup.log."""
    say(f"installing {what}")
    started = time.monotonic()
    log = ENVIRONMENT / "setup.log"
    with log.open("w") as output:
        done = subprocess.run(
            [ENVIRONMENT / "bin" / "python", "-I", "-m", "pip", "install", "--no-input", *arguments],
            stdout=output,
            stderr=subprocess.STDOUT,
            close_fds=False,
            check=False,
        )
    if done.returncode != 0:
        raise SetupError(f"cannot install {what}: {cause(log.read_text(errors='replace'))} (see {log})")
    if (seconds := time.monotonic() - started) > 5:
        say(f"installed {what} in {seconds:.0f} s")


def cause(output: str) -> str:
    """Why a program failed, in a few words: a cause that is known, or the last line that tells."""
    for pattern, meaning in CAUSES:
        if match := re.search(pattern, output):
            return meaning.format(*match.groups())
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith("error:")]
    return (errors or lines or ["no reason given"])[-1]


def say(text: str) -> None:
    """One line of progress."""
    print(f"setup: {text}", flush=True)


if __name__ == "__main__":
    main()
