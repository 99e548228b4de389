"""What does not work although the proxy is ready: looked at once, beside its work."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import threading
from collections.abc import Iterator
from importlib.util import find_spec

import psycopg
import pyarrow as pa

from catalog.errors import ConfigurationError, Error
from coordinator.failures import in_one_line
from coordinator.process.orders import Orders
from executors.java import require_java, require_start
from executors.machine import default_memory
from proxy.net.control import Control
from proxy.net.prerequisites import lacks_under
from proxy.settings import Settings
from sources.server.prerequisites import lack_text
from sources.warehouse.warehouse import Warehouse

_UNANSWERED = "standing queries are not answered"
_ONLY_SMALL = "standing queries are answered only as far as they are small"


def tell_problems(settings: Settings, orders: Orders | None) -> None:
    """Say on standard error what does not work, one line each; nothing waits for it.

    Without orders another gavial answers standing queries.
    """
    threading.Thread(target=_tell, args=(settings, orders), name="readiness", daemon=True).start()


def _tell(settings: Settings, orders: Orders | None) -> None:
    for problem in problems(settings, orders):
        # At the end of the process the stream may be locked by a thread that is gone.
        os.write(sys.stderr.fileno(), f"gavial: {problem}\n".encode())


def problems(settings: Settings, orders: Orders | None) -> Iterator[str]:
    """Everything that does not work, with what to do about it."""
    yield from problems_of_server(settings)
    if orders is not None:
        without_spark = _ONLY_SMALL if orders.engines.engine == "auto" else _UNANSWERED
        for check, effect in ((require_warehouse, _UNANSWERED), (require_spark, without_spark)):
            try:
                check(orders)
            except Error as error:
                detail = f": {error.detail.rstrip('.')}" if error.detail else ""
                yield f"{effect}: {error.message}{detail} ({error.hint})"


def problems_of_server(settings: Settings) -> Iterator[str]:
    """What the proxy's own login meets at the server."""
    upstream = settings.upstream
    try:
        facts = asyncio.run(Control(settings).facts())
    except psycopg.Error as error:
        yield (
            f'{_UNANSWERED}: the login "{upstream.user}" of --upstream cannot connect to database '
            f'"{upstream.database}": {in_one_line(error)} '
            "(Correct --upstream and restart gavial, or mend the server, which is tried again.)"
        )
        return
    for lack in lacks_under(settings, facts):
        yield f"{_UNANSWERED}: {lack_text(lack)}"


def require_warehouse(orders: Orders) -> None:
    """Write a file where the captured changes will lie, and remove it."""
    try:
        Warehouse(orders.warehouse).probe()
    except (OSError, pa.ArrowException, ValueError) as error:
        raise ConfigurationError(
            f"the warehouse {orders.warehouse} cannot be written to: {in_one_line(error)}",
            hint="Correct --warehouse and restart gavial, or mend the place, which is tried again.",
        ) from None


def require_spark(orders: Orders) -> None:
    """What Spark is started with on this machine, or reached with on another one."""
    if orders.engines.spark_remote is not None:
        if missing := [name for name in ("grpc", "google.protobuf", "pandas") if find_spec(name) is None]:
            raise ConfigurationError(
                f"Spark Connect needs more Python packages: {', '.join(missing)}",
                hint="Install them with pip install 'gavial[connect]', and restart gavial.",
            )
        return
    if shutil.which("bash") is None:
        raise ConfigurationError(
            "bash, by which Spark is started, is not on PATH", hint="Install it, and restart gavial."
        )
    require_start(require_java(os.environ), orders.engines.spark_memory or default_memory())
