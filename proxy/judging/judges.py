"""The process that judges queries for a worker (`proxy/judging/process.py`): started, asked, replaced."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import pickle
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from catalog.errors import CannotJudgeNow
from catalog.postgres.signatures import Signatures
from executors.settings import EngineSettings
from proxy.judging.exchange import HEADER, Ask, Forget, Judged, Key, Learn, send

log = logging.getLogger(__name__)

AT_ONCE: Final = max(4, 2 * (os.cpu_count() or 1))
"""So many questions are judged at the same time; further ones wait for the first to end."""

CPU_SECONDS: Final = 10
"""What one question may take of a core."""

_STOP_SECONDS: Final = 5.0
_MOST_DATABASES: Final = 16
"""The process knows the signatures of so many databases at most."""


@dataclass(slots=True)
class _Process:
    """The running process, and what it has learned."""

    process: subprocess.Popen[bytes]
    messages: socket.socket
    learned: set[Key] = field(default_factory=set)


class Judges:
    """Judges questions outside of this process: nothing here waits for one, and each can be given up."""

    def __init__(
        self, engines: EngineSettings, log_level: str = "WARNING", cpu_seconds: int = CPU_SECONDS
    ) -> None:
        self._arguments = (log_level, str(cpu_seconds), json.dumps(engines.to_values()))
        self._thread = ThreadPoolExecutor(1, "judges")
        self._places = asyncio.Semaphore(AT_ONCE)
        self._running: _Process | None = None

    def warm(self) -> None:
        """Start the process before anybody asks."""
        self._thread.submit(self._process)

    @property
    def process(self) -> int | None:
        """The id of the process, where it runs."""
        return self._running.process.pid if self._running is not None else None

    async def ask(self, key: Key, signatures: Signatures, words: str) -> Judged:
        """The outcome of a question; cancelled, it is given up at once."""
        async with self._places:
            our_end, their_end = socket.socketpair()
            try:
                loop = asyncio.get_running_loop()
                await loop.run_in_executor(self._thread, self._ask, key, signatures, words, their_end)
                reader, writer = await asyncio.open_connection(sock=our_end)
            except BaseException:
                our_end.close()
                raise
            finally:
                their_end.close()
            try:
                (length,) = HEADER.unpack(await reader.readexactly(HEADER.size))
                outcome: Judged = pickle.loads(await reader.readexactly(length))
            except (asyncio.IncompleteReadError, ConnectionError):
                return CannotJudgeNow()
            finally:
                writer.transport.abort()
            return outcome

    def stop(self) -> None:
        """End the process, and with it all that is judged."""
        self._thread.shutdown()
        self._drop()

    def _ask(self, key: Key, signatures: Signatures, words: str, line: socket.socket) -> None:
        try:
            self._tell(key, signatures, words, line)
        except OSError as error:
            log.error("the process that judges queries ended: %s; starting another", error)
            self._drop()
            self._tell(key, signatures, words, line)

    def _tell(self, key: Key, signatures: Signatures, words: str, line: socket.socket) -> None:
        running = self._process()
        if key not in running.learned:
            if len(running.learned) == _MOST_DATABASES:
                send(running.messages, Forget())
                running.learned.clear()
            send(running.messages, Learn(key, signatures))
            running.learned.add(key)
        send(running.messages, Ask(key, words), line)

    def _process(self) -> _Process:
        if self._running is None:
            our_end, their_end = socket.socketpair()
            with their_end:
                process = subprocess.Popen(
                    [
                        sys.executable,
                        "-m",
                        "proxy.judging.process",
                        str(their_end.fileno()),
                        *self._arguments,
                    ],
                    stdin=subprocess.DEVNULL,
                    pass_fds=(their_end.fileno(),),
                    env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # what is copied has no threads
                )
            self._running = _Process(process, our_end)
        return self._running

    def _drop(self) -> None:
        if self._running is not None:
            self._running.messages.close()
            try:
                self._running.process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._running.process.kill()
                self._running.process.wait()
            self._running = None
