"""Servers shared by the tests of one session, and how random examples are drawn."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from random import Random

import pytest
from hypothesis import settings
from hypothesis.core import threadlocal
from hypothesis.database import DirectoryBasedExampleDatabase, InMemoryExampleDatabase

from tests.support.kept_examples import KEPT, KeptExamples, add_lines_to_keep, kept_examples
from tests.support.longest_first import seconds_of, seconds_of_files
from tests.support.running import embedded, quick_java, servers

IN_CI = bool(os.environ.get("CI"))

# No example is timed. Kept ones come first; then CI draws the same each time, and everybody else new ones.
settings.register_profile(
    "gavial",
    deadline=None,
    print_blob=True,
    database=KeptExamples(
        kept_examples(KEPT.read_text()),
        InMemoryExampleDatabase() if IN_CI else DirectoryBasedExampleDatabase(".hypothesis/examples"),
    ),
)
settings.load_profile("gavial")

os.environ.setdefault(quick_java.VARIABLE, quick_java.options())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where several workers share the files, they take the longest first."""
    if hasattr(config, "workerinput"):
        seconds = seconds_of_files()
        items.sort(key=lambda item: -seconds_of(seconds, item.path))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Under CI each test draws by its name. `derandomize` would do that too, and leave kept examples out."""
    if IN_CI:
        threadlocal._hypothesis_global_random = Random(item.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    add_lines_to_keep(report)
    return report


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
