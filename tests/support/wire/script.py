"""Reads, plays and records the protocol scripts under `wire/`; `wire/README.md` describes their format."""

from __future__ import annotations

import itertools
import re
import shlex
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tests.support.wire.client_messages import EndOfStream, Terminate, encode
from tests.support.wire.raw_client import Address, RawClient
from tests.support.wire.server_messages import LETTERS, render_all, show

Send = Callable[[RawClient, bytes], None]
PAUSE_SECONDS = 0.001  # long enough for what was sent before to be read on its own


@dataclass(frozen=True, slots=True)
class Block:
    """One exchange: what is sent, how long to listen, and what each server answered."""

    comment: tuple[str, ...]
    command: str  # empty where the block is a comment alone
    messages: tuple[str, ...]
    answers: Mapping[str, tuple[str, ...]]  # by name of the server; "" stands for every server

    def answer(self, server: str) -> tuple[str, ...]:
        """What was recorded from a server."""
        return self.answers[server] if server in self.answers else self.answers.get("", ())

    @property
    def parts(self) -> list[bytes | EndOfStream]:
        """The messages in their encoding."""
        return [encode(line) for line in self.messages]

    @property
    def size(self) -> int:
        """How many bytes are sent."""
        return sum(len(part) for part in self.parts if isinstance(part, bytes))


@dataclass(frozen=True, slots=True)
class Script:
    """A file of blocks."""

    path: Path
    blocks: tuple[Block, ...]

    @classmethod
    def read(cls, path: Path) -> Script:
        """Parse a file."""
        paragraphs = re.split(r"\n{2,}", path.read_text().strip("\n"))
        return cls(path, tuple(map(parse_block, paragraphs)))

    def answers(self, server: str) -> list[tuple[str, ...]]:
        """What was recorded from a server, block by block."""
        return [block.answer(server) for block in self.blocks]

    def record(self, played: Mapping[str, list[tuple[str, ...]]]) -> Script:
        """The same script with new answers."""
        blocks = []
        for number, block in enumerate(self.blocks):
            blocks.append(replace(block, answers={name: answers[number] for name, answers in played.items()}))
        return replace(self, blocks=tuple(blocks))

    def write(self) -> None:
        """Put the script back into its file."""
        self.path.write_text("\n".join(map(format_block, self.blocks)))


def parse_block(paragraph: str) -> Block:
    """Comment, command, messages, and answers behind a line of dashes each."""
    sections = re.split(r"^----", paragraph, flags=re.MULTILINE)
    head, *answered = (section.rstrip("\n").split("\n") for section in sections)
    comment = tuple(itertools.takewhile(lambda line: line.startswith("#"), head))
    command, *messages = head[len(comment) :] or [""]
    answers = {name: tuple(answer) for names, *answer in answered for name in names.strip().split(" ")}
    return Block(comment, command, tuple(messages), answers)


def format_block(block: Block) -> str:
    """A block as text; servers that answered alike share a section, and one for all has no name."""
    lines = [*block.comment, *filter(None, [block.command]), *block.messages]
    groups: dict[tuple[str, ...], list[str]] = {}
    for server, answer in block.answers.items():
        groups.setdefault(answer, []).append(server)
    for answer, servers in groups.items():
        if answer or len(groups) > 1:
            lines += [f"---- {' '.join(servers)}" if len(groups) > 1 else "----", *answer]
    return "\n".join(lines) + "\n"


def whole(client: RawClient, data: bytes) -> None:
    """Send in one segment."""
    client.send(data)


def cut_at(offset: int) -> Send:
    """Send in two segments; a negative offset counts from the end."""

    def send(client: RawClient, data: bytes) -> None:
        client.send(data[:offset])
        if data[offset:]:
            time.sleep(PAUSE_SECONDS)
            client.send(data[offset:])

    return send


def bytewise(client: RawClient, data: bytes) -> None:
    """Send byte by byte, what is long only at its beginning."""
    for byte in data[:500]:
        client.send(bytes((byte,)))
        time.sleep(PAUSE_SECONDS / 4)
    client.send(data[500:])


def play(script: Script, address: Address, send: Send = whole) -> list[tuple[str, ...]]:
    """What the server answers to each block; anything it says after the last one belongs to the last."""
    player = Player(address, send)
    try:
        answers = [player.play(block) for block in script.blocks]
        return [*answers[:-1], (*answers[-1], *player.farewell())]
    finally:
        player.close()


class Player:
    """One run of a script: the connection of the moment."""

    def __init__(self, address: Address, send: Send) -> None:
        self._address = address
        self._send = send
        self._connection: RawClient | None = None

    def play(self, block: Block) -> tuple[str, ...]:
        """Send what the block says and listen as long as it says."""
        match shlex.split(block.command):
            case []:
                return ()
            case ["connect"]:
                self._renew()
                return ()
            case ["session", *settings]:
                self._login(settings)
                return ()
            case ["login", *settings]:
                return tuple(self._login(settings))
            case ["until", *until]:
                if self._connection is None:
                    self._login([])
                self._transmit(block.parts)
                return tuple(self._listen(until))
            case _:
                raise AssertionError(f"unknown command: {block.command}")

    def farewell(self) -> list[str]:
        """End the connection; what the server still had to say."""
        if self._connection is None:
            return []
        self._client.send(Terminate())
        left = render_all(self._client)
        self.close()
        return left

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    @property
    def _client(self) -> RawClient:
        assert self._connection is not None, "the connection has been closed"
        return self._connection

    def _renew(self) -> None:
        left = self.farewell()
        assert not left, left
        self._connection = self._address.connect()

    def _login(self, settings: Iterable[str]) -> list[str]:
        self._renew()
        pairs = dict(setting.split("=", 1) for setting in settings)
        major, minor = map(int, pairs.pop("version", "3.0").split("."))
        greeting = self._client.login(self._address, major << 16 | minor, **pairs)
        return render_all(greeting) + ([] if greeting[-1:] and greeting[-1].kind == "Z" else self._closed())

    def _transmit(self, parts: Iterable[bytes | EndOfStream]) -> None:
        for is_data, group in itertools.groupby(parts, lambda part: isinstance(part, bytes)):
            if is_data:
                self._send(self._client, b"".join(part for part in group if isinstance(part, bytes)))
            else:
                self._client.end()

    def _listen(self, until: list[str]) -> list[str]:
        match until:
            case ["nothing"]:
                return []
            case ["byte"]:
                byte = self._client.take(1)
                return self._closed() if byte is None else [f"Byte {byte.decode('latin-1')}"]
            case ["text"]:
                return [f"Text {show(self._client.remainder())}", *self._closed()]
            case ["close"]:
                return render_all(self._client) + self._closed()
            case [name, *counts]:
                count = int(counts[0]) if counts else 1
                messages = self._client.until(LETTERS[name], count)
                found = sum(message.kind == LETTERS[name] for message in messages)
                return render_all(messages) + (self._closed() if found < count else [])
            case _:
                raise AssertionError(until)

    def _closed(self) -> list[str]:
        self.close()
        return ["closed"]
