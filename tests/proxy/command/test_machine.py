from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from proxy.command.checks.findings import Finding, Status, render
from proxy.command.checks.machine import examine_machine


def find(findings: tuple[Finding, ...], what: str) -> Finding:
    return next(finding for finding in findings if finding.what == what)


def test_a_new_directory_is_fine_and_is_not_made(tmp_path: Path) -> None:
    data = tmp_path / "new"
    found = find(examine_machine(data), "data directory")
    assert found == Finding(Status.OK, "data directory", f"{data} does not exist yet")
    assert not data.exists()


def test_a_directory_open_to_others_is_a_warning(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    found = find(examine_machine(tmp_path), "data directory")
    assert found.status is Status.WARN
    assert found.found == f"{tmp_path}, mode 0755, not in use"


def test_a_directory_in_use_is_said_to_be(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    descriptor = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    found = find(examine_machine(tmp_path), "data directory")
    os.close(descriptor)
    assert found == Finding(Status.OK, "data directory", f"{tmp_path}, mode 0700, in use")


def test_binaries_that_will_not_do_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAVIAL_PG_BIN", str(tmp_path))
    found = find(examine_machine(tmp_path), "PostgreSQL")
    assert found.status is Status.MISSING
    assert f"{tmp_path} (GAVIAL_PG_BIN): no program postgres" in found.found
    assert found.hint


def test_a_java_that_is_refused_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    found = find(examine_machine(tmp_path), "Java")
    assert found.status is Status.OK
    assert f"JAVA_HOME: {tmp_path}/bin/java does not run" in found.hint


def test_one_line_each() -> None:
    findings = (
        Finding(Status.OK, "disk", "9.0 GB free"),
        Finding(Status.MISSING, "Java", "none", "install one"),
    )
    assert (
        render(findings) == "ok      disk            9.0 GB free\nmissing Java            none; install one"
    )
