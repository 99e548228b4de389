"""Servers shared by the tests of one session, and how random examples are drawn."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.support.longest_first import seconds_of, seconds_of_files
from tests.support.running import embedded, quick_java, servers

# Never timed; under CI the same examples each time, everywhere else new ones.
settings.register_profile("here", deadline=None, print_blob=True)
settings.register_profile("ci", deadline=None, print_blob=True, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")

os.environ.setdefault(quick_java.VARIABLE, quick_java.options())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where several workers share the files, they take the longest first."""
    if hasattr(config, "workerinput"):
        seconds = seconds_of_files()
        items.sort(key=lambda item: -seconds_of(seconds, item.path))


@pytest.fixture(scope="session")
def postgres15() -> Iterator[servers.Server]:
    with servers.postgres(15) as server:
        yield server


@pytest.fixture(scope="session")
def postgres18() -> Iterator[servers.Server]:
    with servers.postgres(18) as server:
        yield server


@pytest.fixture(scope="session")
def gavial15(postgres15: servers.Server) -> Iterator[servers.Gavial]:
    with servers.gavial("--proxy-only", upstream=postgres15) as running:
        yield running


@pytest.fixture(scope="session")
def gavial18(postgres18: servers.Server) -> Iterator[servers.Gavial]:
    with servers.gavial("--proxy-only", upstream=postgres18) as running:
        yield running


@pytest.fixture(scope="session")
def gavial_embedded() -> Iterator[servers.Gavial]:
    with servers.gavial("--proxy-only") as running:
        yield running


@pytest.fixture(params=["postgres15", "gavial15", "postgres18", "gavial18", "gavial_embedded"])
def place(request: pytest.FixtureRequest) -> servers.Server | servers.Gavial:
    """PostgreSQL itself and Gavial in front of it: what a client test asserts must hold in every place."""
    found = request.getfixturevalue(request.param)
    assert isinstance(found, servers.Server | servers.Gavial)
    return found


@pytest.fixture
def dsn(place: servers.Server | servers.Gavial) -> str:
    return place.dsn()


@pytest.fixture(params=[15, 18])
def site(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[embedded.Site]:
    with embedded.site(request.param, monkeypatch.setenv) as made:
        yield made


@pytest.fixture(params=[15, 18])
def both(request: pytest.FixtureRequest) -> tuple[str, str]:
    """The same database twice: on PostgreSQL itself, and through Gavial."""
    direct = request.getfixturevalue(f"postgres{request.param}")
    through = request.getfixturevalue(f"gavial{request.param}")
    return direct.dsn(), through.dsn()
