from __future__ import annotations

import os
import select
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from tests.support.checkout import ROOT

FOLDERS = ("catalog", "dialect", "planner", "sources", "executors", "coordinator", "proxy")
DEADLINE_SECONDS = 120

pytestmark = pytest.mark.service


@dataclass(frozen=True)
class Installation:
    """An environment with the wheel in it, and a directory that holds a folder with one of our names."""

    wheel: Path
    programs: Path
    elsewhere: Path

    def start(self, program: str, *arguments: object) -> subprocess.Popen[str]:
        """Run a program of the environment as a user would, from that directory."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        return subprocess.Popen(
            [self.programs / program, *map(str, arguments)],
            cwd=self.elsewhere,
            env=environment | {"GAVIAL_SYSTEM_DIR": str(self.elsewhere / "system")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, program: str, *arguments: object) -> tuple[int, str, str]:
        """Status, output and errors of a program that ends by itself."""
        process = self.start(program, *arguments)
        output, errors = process.communicate(timeout=DEADLINE_SECONDS)
        return process.returncode, output, errors


def build(directory: Path) -> None:
    """Make the wheel."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(directory)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)


def install(wheel: Path, environment: Path) -> Path:
    """Make an environment with nothing but the wheel in it, and say where its Python is.

    What Gavial depends on comes from the environment of the tests, by a .pth file. The .pth files in there
    do not count then, so neither does the checkout.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    python = environment / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python)]
    subprocess.run([*pip, "install", "--quiet", "--no-index", "--no-deps", str(wheel)], check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


@pytest.fixture(scope="module")
def installation() -> Iterator[Installation]:
    with tempfile.TemporaryDirectory(prefix="gavial-test-") as name:
        place = Path(name)
        place.chmod(0o711)
        build(place)
        (wheel,) = place.glob("*.whl")
        python = install(wheel, place / "venv")
        elsewhere = place / "elsewhere"
        elsewhere.mkdir(mode=0o711)
        for folder in FOLDERS:
            (elsewhere / folder).mkdir()
            (elsewhere / folder / "__init__.py").write_text("raise SystemExit('this is not Gavial')\n")
        yield Installation(wheel, python.parent, elsewhere)


def test_the_wheel_has_one_name_of_its_own(installation: Installation) -> None:
    names = zipfile.ZipFile(installation.wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"gavial"}
    assert {name.split("/")[2] for name in names if name.startswith("gavial/app/")} == set(FOLDERS)
    assert not [name for name in names if "__pycache__" in name]


def test_the_folders_cannot_be_imported_but_by_the_command(installation: Installation) -> None:
    for folder in FOLDERS:
        status, _, errors = installation.run("python", "-I", "-c", f"import {folder}")
        assert status == 1
        assert errors.splitlines()[-1] == f"ModuleNotFoundError: No module named '{folder}'"


def test_the_command_ignores_folders_that_have_its_names(installation: Installation) -> None:
    version = subprocess.run(
        [sys.executable, "-m", "gavial", "--version"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    assert installation.run("gavial", "--version") == (0, version, "")
    assert installation.run("python", "-m", "gavial", "--version") == (0, version, "")


def test_it_serves(installation: Installation) -> None:
    data = installation.elsewhere / "data"
    server = installation.start("gavial", "serve", "--data", data, "--port", 0)
    try:
        assert server.stdout is not None
        assert select.select([server.stdout], [], [], DEADLINE_SECONDS)[0], "not ready in time"
        assert server.stdout.readline().startswith("gavial: ready")
        status, url, _ = installation.run("gavial", "url", "--data", data)
        assert status == 0
        with psycopg.connect(url.strip()) as connection:
            assert connection.execute("select 1").fetchall() == [(1,)]
            assert connection.execute("show gavial.version").fetchall() != []
    finally:
        server.terminate()
        _, errors = server.communicate(timeout=DEADLINE_SECONDS)
    assert (server.returncode, errors) == (0, "")
