"""The process that judges queries: `python -m proxy.judging.process`, asked by `judges.py`.

It imports what judging needs and learns the signatures of each database once. Each question is judged in a
copy of it (fork), which is there at once, shares nothing, and can be killed at any moment: when the one who
asked hangs up, or when it has taken too much time or memory.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import resource
import selectors
import signal
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NoReturn

from catalog.errors import Error, QueryNotJudged, StatementTooComplex
from catalog.postgres.signatures import Signatures
from executors.engines import engine_of
from executors.executor import Engine
from executors.settings import EngineSettings
from proxy.judging.exchange import Ask, Forget, Judged, Key, Learn, Message, receive, send
from proxy.judging.judge import judge, read_question

log = logging.getLogger(__name__)

_MEMORY_BYTES: Final = 1 << 30
_NICE: Final = 5
_LONG_SECONDS: Final = 0.5
_HINT: Final = "Keep the rows of some of its joins or subqueries in a table, and read that."


@dataclass(frozen=True, slots=True)
class _Judgement:
    """A copy of this process that judges: `life` is closed when it ends, `line` when nobody waits for it."""

    process: int
    life: int
    line: socket.socket


class Judging:
    """Answers what comes over the socket, until that is closed."""

    def __init__(self, messages: socket.socket, engine: Engine, cpu_seconds: int) -> None:
        self._messages = messages
        self._engine = engine
        self._cpu_seconds = cpu_seconds
        self._signatures: dict[Key, Signatures] = {}
        self._judgements: set[_Judgement] = set()
        self._selector = selectors.DefaultSelector()
        self._selector.register(messages, selectors.EVENT_READ)

    def run(self) -> None:
        """Answer questions until the process that asks them is gone."""
        while True:
            for key, _events in self._selector.select():
                match key.data:
                    case None:
                        received = receive(self._messages)
                        if received is None:
                            self._kill_all()
                            return
                        self._take(*received)
                    case _Judgement() as judgement if judgement in self._judgements:
                        if key.fileobj is judgement.line:
                            os.kill(judgement.process, signal.SIGKILL)
                        self._end(judgement)

    def _take(self, message: Message, line: socket.socket | None) -> None:
        match message:
            case Learn(key=key, signatures=signatures):
                self._signatures[key] = signatures
                gc.freeze()  # collections in the copies touch none of it
            case Forget():
                self._signatures.clear()
            case Ask(key=key, words=words):
                assert line is not None
                self._begin(self._signatures[key], words, line)

    def _begin(self, signatures: Signatures, words: str, line: socket.socket) -> None:
        life, end_of_life = os.pipe()
        process = os.fork()
        if process == 0:
            self._let_go()
            self._judge_and_exit(signatures, words, line)
        os.close(end_of_life)
        judgement = _Judgement(process, life, line)
        self._judgements.add(judgement)
        self._selector.register(life, selectors.EVENT_READ, judgement)
        self._selector.register(line, selectors.EVENT_READ, judgement)

    def _judge_and_exit(self, signatures: Signatures, words: str, line: socket.socket) -> NoReturn:
        try:
            _limit(self._cpu_seconds)
            send(line, judged(signatures, words, self._engine))
        except BaseException:
            log.exception("a query could not be judged")
        finally:
            os._exit(0)

    def _let_go(self) -> None:
        """Close, in a forked copy, the connections of all other questions."""
        self._selector.close()
        self._messages.close()
        for judgement in self._judgements:
            judgement.line.close()

    def _end(self, judgement: _Judgement) -> None:
        """It has ended, or is about to: tell why, if it had no time to say anything."""
        self._judgements.remove(judgement)
        self._selector.unregister(judgement.life)
        self._selector.unregister(judgement.line)
        os.close(judgement.life)
        _process, status = os.waitpid(judgement.process, 0)
        if os.WIFSIGNALED(status):
            with suppress(OSError):
                send(judgement.line, _killed(os.WTERMSIG(status)))
        judgement.line.close()

    def _kill_all(self) -> None:
        for judgement in self._judgements:
            os.kill(judgement.process, signal.SIGKILL)


def _killed(number: int) -> Error:
    if number == signal.SIGXCPU:
        return StatementTooComplex("the query takes too long to be planned", hint=_HINT)
    return QueryNotJudged(f"Its process ended with signal {number}.")


def _limit(cpu_seconds: int) -> None:
    """Limit what a question may take of the machine; one that takes long gives way to all others."""
    signal.signal(signal.SIGPROF, lambda _number, _frame: os.nice(_NICE))
    signal.setitimer(signal.ITIMER_PROF, _LONG_SECONDS)
    pages = int(open("/proc/self/statm").read().split()[0])  # noqa: SIM115
    memory = pages * resource.getpagesize() + _MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def judged(signatures: Signatures, words: str, engine: Engine) -> Judged:
    """The outcome of a question, whatever becomes of it."""
    question = read_question(words)
    if question is None:
        return None
    try:
        return judge(question, signatures, engine)
    except Error as refusal:
        return refusal
    except MemoryError:
        return StatementTooComplex("the query takes too much memory to be planned", hint=_HINT)
    except Exception as bug:
        log.exception("a query could not be judged")
        return QueryNotJudged(repr(bug))


def main() -> None:
    """Judge what comes over the inherited socket."""
    descriptor, level, cpu_seconds, engines = sys.argv[1:]
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.captureWarnings(True)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    engine = engine_of(EngineSettings.of(json.loads(engines)))
    gc.freeze()
    Judging(socket.socket(fileno=int(descriptor)), engine, int(cpu_seconds)).run()
    gc.unfreeze()  # else the end frees nothing, which DuckDB reports on standard error


if __name__ == "__main__":
    main()
