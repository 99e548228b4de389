"""The kinds of executors that there are: a further one is a folder of its own, and a line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from executors.auto import AutoEngine
from executors.executor import Engine
from executors.reference.executor import ReferenceEngine
from executors.settings import EngineSettings
from executors.spark.executor import SparkEngine

ENGINES: Final[Mapping[str, Callable[[EngineSettings], Engine]]] = {
    "auto": AutoEngine.of,
    "spark": SparkEngine.of,
    "reference": ReferenceEngine.of,
}

OFFERED: Final = tuple(name for name in ENGINES if name != "reference")
"""What an operator chooses from; the definition is for tests."""


def engine_of(settings: EngineSettings) -> Engine:
    """The engine that the operator chose; nothing is started yet."""
    return ENGINES[settings.engine](settings)
