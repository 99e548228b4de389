"""Servers shared by the tests of one session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import servers


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
    with servers.gavial(upstream=postgres15) as running:
        yield running


@pytest.fixture(scope="session")
def gavial18(postgres18: servers.Server) -> Iterator[servers.Gavial]:
    with servers.gavial(upstream=postgres18) as running:
        yield running


@pytest.fixture(scope="session")
def gavial_embedded() -> Iterator[servers.Gavial]:
    with servers.gavial() as running:
        yield running
